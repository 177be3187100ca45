"""What the supervisor does with a message, whatever its child does. No process runs."""

from __future__ import annotations

from dataclasses import replace

import pytest

from lambdas.shared.adapters.lines import Line
from lambdas.shared.errors import Unavailable
from lambdas.shared.story import State
from tests.fakes.polling import AGENT, Rig

SUCCEEDED = {"verdict": "succeeded", "is_done": True, "hide_seconds": None}


def test_message_is_deleted_when_the_verdict_says_that_it_is_done() -> None:
    rig = Rig([SUCCEEDED])

    assert rig.supervisor.run() == 0

    assert (rig.inbox.deleted, rig.inbox.shown) == (["r1"], [])


def test_message_of_a_failed_run_is_shown_when_its_child_wants_it() -> None:
    rig = Rig([{"verdict": "failed", "is_done": False, "hide_seconds": 7}])

    rig.supervisor.run()

    assert (rig.inbox.deleted, rig.inbox.shown) == ([], [("r1", 7)])


@pytest.mark.parametrize("verdict", ["stale", "undecided", "not_ours"])
def test_message_that_nobody_decided_on_is_left_as_it_is(verdict: str) -> None:
    rig = Rig([{"verdict": verdict, "is_done": False, "hide_seconds": None}])

    rig.supervisor.run()

    assert (rig.inbox.deleted, rig.inbox.shown) == ([], [])


def test_message_that_may_be_another_s_by_now_is_not_deleted() -> None:
    """Its receive is over: it may be the carrier of a run that began since."""
    rig = Rig()
    rig.script.append([rig.passes(91), SUCCEEDED])

    rig.supervisor.run()

    assert rig.inbox.deleted == []


def test_run_whose_process_died_is_failed_and_waits_for_its_back_off() -> None:
    rig = Rig()
    rig.script.append([rig.claims(), None])

    rig.supervisor.run()

    assert rig.row["state"] == "FAILED"
    assert rig.row["reason"]["category"] == "crash"
    assert rig.row["reason"]["message"] == "the agent's process was ended by signal 9"
    assert rig.inbox.shown == [("r1", 2)]
    assert rig.row["due_at"] == rig.clock.ms + 2_000


def test_run_whose_process_died_on_its_last_receive_is_dead_and_bounces() -> None:
    rig = Rig()
    rig.inbox.waiting = [3]
    rig.script.append([rig.claims(), None])

    rig.supervisor.run()

    assert (rig.row["state"], rig.inbox.shown) == ("DEAD", [("r1", 0)])


@pytest.mark.parametrize(
    "line",
    [
        {"claimed": 5},
        {"verdict": "succeeded"},
        {"verdict": "failed", "is_done": False, "hide_seconds": -7},
        {"verdict": "failed", "is_done": 1, "hide_seconds": None},
        {"ready": True},
    ],
    ids=str,
)
def test_line_that_no_child_says_decides_nothing(line: Line) -> None:
    """An agent may write into every file that is open."""
    rig = Rig()
    rig.script.append([line, rig.claims(), line, SUCCEEDED])

    assert rig.supervisor.run() == 0

    assert (rig.inbox.deleted, rig.inbox.shown) == (["r1"], [])


def test_another_child_runs_the_next_message() -> None:
    rig = Rig([None], [SUCCEEDED])
    rig.inbox.waiting = [1, 1]

    rig.supervisor.run()

    assert [child.ended for child in rig.children] == [1, 1]
    assert rig.inbox.deleted == ["r2"]


def test_message_that_comes_after_its_child_has_ended_is_run_by_another(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """The kernel took an idle one: no receive is spent for that."""
    rig = Rig([SUCCEEDED])
    rig.inbox.at_receive = lambda: rig.loses(rig.children[0])

    assert rig.supervisor.run() == 0

    assert (rig.inbox.deleted, rig.inbox.shown) == (["r1"], [])
    assert [child.ended for child in rig.children] == [1, 1]
    assert "idle child ended" in [each.message for each in caplog.records]


def test_message_that_came_with_the_signal_while_a_child_starts_is_given_back() -> None:
    rig = Rig([SUCCEEDED])

    def at_receive() -> None:
        rig.loses(rig.children[0])
        rig.at_start = rig.stopping.ask

    rig.inbox.at_receive = at_receive

    assert rig.supervisor.run() == 0

    assert (rig.inbox.deleted, rig.inbox.shown) == ([], [("r1", 0)])


def test_verdict_that_came_with_the_end_of_its_process_counts() -> None:
    rig = Rig()
    rig.last_words = [SUCCEEDED]
    rig.script.append([rig.claims(), rig.passes(61)])

    rig.supervisor.run()

    assert rig.inbox.deleted == ["r1"]


@pytest.mark.parametrize(
    ("state", "due_in", "shown"),
    [(State.SUCCEEDED, None, 0), (State.FAILED, 30, 30), (State.DEAD, None, 0)],
)
def test_verdict_that_was_lost_is_asked_of_the_ledger_by_the_next_receive(
    state: State, due_in: int | None, shown: int
) -> None:
    """The child had ended its run, and died before it could say so."""
    rig = Rig()
    more = {} if due_in is None else {"due_at": rig.clock.ms + due_in * 1000}
    rig.script.append([rig.claims(), rig.ends(state, **more), None])

    rig.supervisor.run()

    assert (rig.row["state"], rig.inbox.deleted) == (state, [])
    assert rig.inbox.shown == [("r1", shown)]


def test_run_that_another_has_taken_over_is_not_touched() -> None:
    rig = Rig()
    rig.script.append(
        [rig.claims(), lambda: rig.row.update(claim_token="another's"), None]
    )

    rig.supervisor.run()

    assert (rig.row["state"], rig.inbox.shown) == ("PROCESSING", [])


def test_run_without_a_sign_of_life_is_ended_and_shown_at_once() -> None:
    rig = Rig(agent=replace(AGENT, stall_seconds=30))
    rig.script.append([rig.claims(), rig.passes(29), {"alive": True}, rig.passes(31)])

    rig.supervisor.run()

    assert rig.children[0].ended == 1
    assert rig.row["reason"]["category"] == "stalled"
    assert rig.inbox.shown == [("r1", 0)]


def test_run_past_its_limit_is_dead_once_it_had_its_grace() -> None:
    rig = Rig(agent=replace(AGENT, max_duration_seconds=40))
    rig.script.append([rig.claims(), rig.passes(51)])

    rig.supervisor.run()

    assert (rig.row["state"], rig.row["reason"]["category"]) == ("DEAD", "too_long")
    assert "max_duration_seconds" in rig.row["reason"]["message"]


def test_run_is_told_of_the_stop_and_its_message_deleted_if_it_is_done() -> None:
    rig = Rig()
    rig.script.append([rig.claims(), rig.stopping.ask, rig.passes(9), SUCCEEDED])
    rig.inbox.waiting = [1, 1]

    assert rig.supervisor.run() == 0

    assert rig.children[0].sent[-1] == {"stop": True}
    assert (rig.inbox.deleted, len(rig.inbox.waiting)) == (["r1"], 1)


def test_run_that_is_not_done_in_the_grace_is_given_back_at_once() -> None:
    rig = Rig()
    rig.script.append([rig.claims(), rig.stopping.ask, rig.passes(11)])

    assert rig.supervisor.run() == 0

    assert (rig.row["state"], rig.row["due_at"]) == ("FAILED", rig.clock.ms)
    assert rig.row["reason"]["category"] == "interrupted"
    assert (rig.inbox.deleted, rig.inbox.shown) == ([], [("r1", 0)])


def test_second_request_ends_the_run_at_once() -> None:
    rig = Rig()
    rig.script.append([rig.claims(), rig.stopping.ask, rig.stopping.ask])

    assert rig.supervisor.run() == 0

    assert (rig.row["state"], rig.inbox.shown) == ("FAILED", [("r1", 0)])


def test_message_that_came_with_the_signal_is_given_back_unread() -> None:
    rig = Rig([SUCCEEDED])
    rig.inbox.at_receive = rig.stopping.ask

    assert rig.supervisor.run() == 0

    assert (rig.inbox.deleted, rig.inbox.shown) == ([], [("r1", 0)])
    assert all("run" not in line for line in rig.children[0].sent)


def test_ledger_that_is_away_lets_the_message_show_when_the_lease_is_over() -> None:
    rig = Rig()

    def away() -> None:
        rig.table.failures = [Unavailable("away")]

    rig.script.append([rig.claims(), away, None])

    rig.supervisor.run()

    assert (rig.row["state"], rig.inbox.shown) == ("PROCESSING", [("r1", 85)])


def test_queue_that_is_away_is_polled_again_after_a_pause(
    caplog: pytest.LogCaptureFixture,
) -> None:
    rig = Rig([SUCCEEDED])
    rig.inbox.failures = [Unavailable("away")]

    assert rig.supervisor.run() == 0

    assert "queue not polled" in [each.message for each in caplog.records]
    assert rig.inbox.deleted == ["r1"]


def test_poll_that_took_long_is_extended_before_its_message_is_run() -> None:
    """When in those twenty seconds it was handed out, nobody knows."""
    rig = Rig([SUCCEEDED])
    rig.inbox.at_receive = rig.passes(15)

    rig.supervisor.run()

    (line,) = [line for line in rig.children[0].sent if "run" in line]
    assert rig.inbox.shown == [("r1", 90)]
    assert line["leased_until"] == 1_000 + 15 + 90 - 5
