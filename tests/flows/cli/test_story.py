"""`events`, `show`, `tail`, `resolve`: what the ledger holds, and settling it."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from lambdas.shared.story import State, Status
from tests.flows.cli.conftest import Stack

REASON = {
    "category": "in_doubt",
    "type": "InDoubt",
    "message": "nobody recorded whether 'comment' happened",
    "downstream": "github",
    "fingerprint": "f1",
}


def accepted(stack: Stack, source: str = "github", *words: str) -> str:
    """Send one sample and return the id it was accepted under."""
    return str(stack.run("send", source, *words).json[0]["event_id"])


def a_run(stack: Stack, event_id: str, state: State, **more: Any) -> None:
    """Write a run row as the worker would."""
    row = {"pk": event_id, "sk": "run#hello", "state": str(state), "attempt": 5}
    stack.table.put({**row, "carrier": "m1", "generation": 0, **more})


def an_effect(stack: Stack, event_id: str, agent: str = "hello") -> None:
    """Write an effect that was started and not finished."""
    stack.table.put(
        {
            "pk": event_id,
            "sk": f"effect#{agent}#comment",
            "status": str(Status.STARTED),
            "generation": 0,
            "operation_id": "0" * 32,
            "started_at": 1_795_953_600_000,
        }
    )


def dead_in_doubt(stack: Stack) -> str:
    """Accept an event whose run is dead for an effect in doubt."""
    event_id = accepted(stack)
    a_run(stack, event_id, State.DEAD, reason=REASON, finished_at=1_795_953_700_000)
    an_effect(stack, event_id)
    return event_id


def status_of(stack: Stack, event_id: str) -> str:
    row = stack.table.get(event_id, "effect#hello#comment")
    assert row is not None
    return str(row["status"])


def test_events_are_listed_the_newest_first_with_their_states(stack: Stack) -> None:
    waiting, unheard = accepted(stack), accepted(stack, "slack", "message")
    stack.table.put({"pk": unheard, "sk": "unheard", "expires_at": 1})
    done = accepted(stack)
    a_run(stack, done, State.SUCCEEDED)

    rows = stack.run("events").json

    assert [row["event_id"] for row in rows] == [done, unheard, waiting]
    assert [row["agents"] for row in rows] == [
        "hello=SUCCEEDED",
        "unheard",
        "hello=QUEUED",
    ]


def test_run_that_was_handed_over_is_shown_with_what_it_has_saved(
    stack: Stack,
) -> None:
    event_id = accepted(stack)
    due_at = 1_795_953_400_000
    a_run(stack, event_id, State.SUSPENDED, due_at=due_at, worked_ms=61_000)
    saved = {
        "version": 12,
        "generation": 0,
        "attempt": 2,
        "held_by": 3,
        "bytes": 4_096,
        "written_at": 1_795_953_600_000,
    }
    key = {"pk": event_id, "sk": "checkpoint#hello"}
    stack.table.put({**key, **saved, "state": '"secret plans"'})

    told = stack.run("show", event_id)
    seen = stack.run("show", event_id, text=True).out
    (row,) = stack.run("events", "--state", "suspended").json

    (run,) = told.json["runs"]
    assert (run["state"], run["due_at"], run["worked_ms"]) == (
        "SUSPENDED",
        None,
        61_000,
    )
    assert told.json["checkpoints"] == [
        {
            "agent": "hello",
            "version": 12,
            "written_at": "2026-11-29T12:00:00.000Z",
            "attempt": 2,
            "generation": 0,
            "bytes": 4_096,
        }
    ]
    assert told.code == 0
    assert "checkpoints" in seen
    assert "12" in seen
    assert "secret plans" not in seen + told.out
    assert row["agents"] == "hello=SUSPENDED"


def test_events_are_narrowed_by_source_state_time_and_number(stack: Stack) -> None:
    first = accepted(stack)
    accepted(stack, "slack")
    a_run(stack, first, State.DEAD, reason=REASON)

    assert len(stack.run("events", "--source", "slack").json) == 1
    assert len(stack.run("events", "--limit", "1").json) == 1
    dead = stack.run("events", "--state", "dead")
    assert (dead.code, [row["event_id"] for row in dead.json]) == (1, [first])
    assert stack.run("events", "--until", "1h").json == []
    assert stack.run("events", "--state", "failed").code == 0


def test_story_holds_everything_and_the_body_only_on_demand(stack: Stack) -> None:
    event_id = dead_in_doubt(stack)

    told = stack.run("show", event_id)
    seen = stack.run("show", event_id, text=True)
    body = stack.run("show", event_id, "--body", text=True)

    assert told.code == seen.code == 1
    (run,) = told.json["runs"]
    assert (run["state"], run["attempt"]) == ("DEAD", 5)
    assert run["reason"].startswith("in_doubt at github: nobody recorded")
    assert told.json["effects"][0]["status"] == "STARTED"
    assert told.json["facts"]["repository"] == "corner-cafe/till"
    assert "prints the total twice" not in told.out + seen.out
    assert f"bellhop resolve {event_id} comment" in seen.out
    assert "prints the total twice" in body.out
    assert body.code == 0


def test_words_of_a_stranger_steer_no_terminal_and_no_shell(stack: Stack) -> None:
    event_id = "github:1;reboot"
    row = stack.table.get(accepted(stack), "event")
    assert row is not None
    actor = "\x1b]0;mine\x07\x9bA\u202eneddih\ud800"
    stack.table.put({**row, "pk": event_id, "actor": actor})
    message = "no issue called \x1b[2J"
    a_run(stack, event_id, State.DEAD, reason={**REASON, "message": message})
    an_effect(stack, event_id)

    said = stack.run("show", event_id, text=True).out

    assert not set("\x1b\x07\x9b\u202e") & set(said)
    assert "\\x1b]0;mine" in said
    assert f"bellhop resolve '{event_id}' comment" in said


def test_event_that_is_not_there_is_told_so(stack: Stack) -> None:
    answered = stack.run("show", "github:nothing", text=True)

    assert answered.code == 1
    assert "no event 'github:nothing'" in answered.err


@pytest.mark.parametrize(
    ("word", "status"),
    [("--happened", "HAPPENED"), ("--not-happened", "NOT_HAPPENED")],
)
def test_doubt_is_settled_and_audited(stack: Stack, word: str, status: str) -> None:
    event_id = dead_in_doubt(stack)

    answered = stack.run("resolve", event_id, "comment", word)

    assert answered.code == 0
    assert status_of(stack, event_id) == status
    (entry,) = stack.table.query(f"audit#{datetime.now(UTC):%Y-%m-%d}")
    assert entry["what"] == f"effect resolved as {status}"
    assert entry["about"] == f"{event_id} hello/comment"


def test_settled_effect_is_not_settled_again(stack: Stack) -> None:
    event_id = dead_in_doubt(stack)
    stack.run("resolve", event_id, "comment", "--happened")

    again = stack.run("resolve", event_id, "comment", "--not-happened", text=True)

    assert again.code == 1
    assert "is not in doubt: it is HAPPENED" in again.err
    assert status_of(stack, event_id) == "HAPPENED"


def test_effect_of_a_run_at_work_is_left_alone(stack: Stack) -> None:
    event_id = accepted(stack)
    a_run(stack, event_id, State.PROCESSING)
    an_effect(stack, event_id)

    answered = stack.run("resolve", event_id, "comment", "--happened", text=True)

    assert answered.code == 1
    assert "is at work on this event" in answered.err
    assert status_of(stack, event_id) == "STARTED"


def test_effect_that_two_agents_have_must_be_named_with_its_agent(
    stack: Stack,
) -> None:
    event_id = dead_in_doubt(stack)
    an_effect(stack, event_id, agent="other")

    unclear = stack.run("resolve", event_id, "comment", "--happened", text=True)
    clear = stack.run("resolve", event_id, "hello/comment", "--happened")

    assert (unclear.code, clear.code) == (2, 0)
    assert "hello/comment, other/comment" in unclear.err


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["comment"], "--happened or --not-happened"),
        (["nothing", "--happened"], "there are: hello/comment"),
    ],
)
def test_resolve_says_what_is_missing(
    stack: Stack, words: list[str], told: str
) -> None:
    answered = stack.run("resolve", dead_in_doubt(stack), *words, text=True)

    assert answered.code == 2
    assert told in answered.err


def test_tail_tells_each_state_once(stack: Stack) -> None:
    event_id = accepted(stack)

    from_now = stack.run("tail", "--for", "1s", text=True)
    from_before = stack.run("tail", "--since", "1m", "--for", "2s")

    assert (from_now.code, from_now.out) == (0, "")
    row = from_before.json  # one object: the state was told once in two looks
    assert (row["event_id"], row["agents"]) == (event_id, "hello=QUEUED")


def test_clock_of_a_deployed_stack_is_not_ours_to_set(stack: Stack) -> None:
    answered = stack.run("clock", "set", "2h", text=True)

    assert answered.code == 2
    assert "only the local stack's time" in answered.err


def test_what_no_run_has_yet_is_relayed_and_first_only_counted(stack: Stack) -> None:
    lost, done = accepted(stack), accepted(stack)
    unheard = accepted(stack, "slack")
    a_run(stack, done, State.SUCCEEDED)
    window = ("--since", "1h", "--until", "0s")
    stack.pass_time(5)

    counted = stack.run("relay", *window, "--dry-run")
    untouched = stack.table.get(unheard, "unheard")
    relayed = stack.run("relay", *window)

    (first,), (second,) = counted.json, relayed.json
    assert (counted.code, relayed.code) == (0, 0)
    assert (first["read"], first["relayed"], first["unheard"]) == (3, 1, 1)
    assert (second["relayed"], second["refused"]) == (1, 0)
    assert untouched is None
    assert stack.table.get(unheard, "unheard") is not None
    assert stack.run("show", lost).json["runs"][0]["state"] == "QUEUED"
