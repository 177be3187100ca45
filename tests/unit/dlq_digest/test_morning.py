"""One message a day: what is new, whose fault, what to do; and nothing twice."""

from __future__ import annotations

import json
from datetime import timedelta

import pytest

from lambdas.dlq_digest.report import Report
from lambdas.shared.blame import Blame
from lambdas.shared.errors import Unavailable
from lambdas.shared.fleet import Digest
from lambdas.shared.groups import Groups, Standing
from tests import slack_limits
from tests.fakes.letters import answer
from tests.unit.dlq_digest.conftest import Desk

DAY = 86_400


def said(desk: Desk) -> str:
    return json.dumps(desk.slack.posted[-1]) if desk.slack.posted else ""


def decide(desk: Desk, standing: Standing, days: int | None = None) -> None:
    until = None if days is None else desk.clock() + timedelta(days=days)
    Groups(desk.ledger.table).decide(
        "f" * 16, "triage", standing, by="somebody", at=desk.clock(), until=until
    )


def next_day(desk: Desk) -> Report:
    desk.clock.advance(DAY)
    return desk.reader.report()


def test_group_says_what_failed_where_and_how_it_is_sent_again(desk: Desk) -> None:
    desk.dead()

    assert desk.morning.run() == "told"

    text = said(desk)
    assert "triage: downstream_unavailable on portal.example.com" in text
    assert f"bellhop replay --stack Bellhop --agent triage --group {'f' * 16}" in text
    assert "/sqs/v3/home?region=eu-central-1#/queues/https%3A%2F%2Fsqs" in text
    assert slack_limits.faults(desk.slack.posted[0]) == []


@pytest.mark.parametrize(("count", "is_vendor"), [(4, False), (5, True)])
def test_five_letters_on_one_other_side_are_the_vendors(
    desk: Desk, count: int, is_vendor: bool
) -> None:
    for number in range(count):
        desk.dead("triage" if number % 2 else "billing")

    desk.morning.run()

    assert ("look at the vendor, not at the agent" in said(desk)) is is_vendor


def test_bugs_of_the_agent_are_nobodys_elses_fault(desk: Desk) -> None:
    for _ in range(9):
        desk.dead(fault=str(Blame.AGENT_BUG))

    assert desk.reader.report().vendors() == []


def test_letters_that_sqs_drops_within_48_hours_are_urgent(desk: Desk) -> None:
    desk.dead()
    desk.clock.advance(12 * DAY + 60)
    desk.dead()

    assert desk.reader.report().expiring == 1
    desk.morning.run()
    assert "1 dead letter will be dropped by SQS within 48 h" in said(desk)


def test_letter_that_sqs_has_dropped_is_not_told(desk: Desk) -> None:
    desk.dead()
    desk.clock.advance(14 * DAY + 60)

    assert desk.reader.report().groups == ()


def test_new_is_new_once_and_back_when_it_was_away(desk: Desk) -> None:
    desk.dead()
    (first,) = desk.reader.report().groups
    desk.morning.run()
    (second,) = next_day(desk).groups
    for key in [k for k in desk.ledger.table.rows if k[1].startswith("run#")]:
        del desk.ledger.table.rows[key]
    desk.boxes["triage"].letters.clear()
    desk.morning.run()
    desk.clock.advance(DAY)
    desk.dead()
    (third,) = desk.reader.report().groups

    assert (first.is_new, first.is_back) == (True, False)
    assert (second.is_new, second.is_back) == (False, False)
    assert (third.is_new, third.is_back) == (False, True)


@pytest.mark.parametrize("standing", [Standing.ACKNOWLEDGED, Standing.RESOLVED])
def test_decided_group_is_quiet_until_it_recurs(desk: Desk, standing: Standing) -> None:
    desk.dead()
    desk.clock.advance(60)
    decide(desk, standing)

    assert desk.morning.run() == "silent"
    desk.clock.advance(DAY)
    desk.dead()
    assert desk.morning.run() == "told"

    assert "back" in said(desk)
    audit = [row for (pk, _), row in desk.ledger.table.rows.items() if "audit#" in pk]
    assert [row["what"] for row in audit] == [f"group opened again, was {standing}"]
    assert [g.standing for g in next_day(desk).groups] == [Standing.OPEN]


def test_ignored_group_is_quiet_when_it_recurs_until_its_day(desk: Desk) -> None:
    desk.dead()
    decide(desk, Standing.IGNORED, days=3)
    standings = []
    for _ in range(4):
        desk.clock.advance(DAY)
        desk.dead()
        (group,) = desk.reader.report().groups
        standings.append(group.standing)

    assert standings == [Standing.IGNORED, Standing.IGNORED, "OPEN", "OPEN"]


def test_nothing_to_tell_is_silence_or_all_clear_by_choice(desk: Desk) -> None:
    assert desk.morning.run() == "silent"
    assert desk.slack.posted == []

    cheerful = Desk(settings=Digest(all_clear=True))
    assert cheerful.morning.run() == "told"
    assert "All clear" in said(cheerful)
    assert slack_limits.faults(cheerful.slack.posted[0]) == []


def test_day_is_told_once_however_often_lambda_calls(desk: Desk) -> None:
    desk.dead()

    assert [desk.morning.run() for _ in range(3)] == ["told"] + ["told before"] * 2
    desk.clock.advance(DAY)
    assert desk.morning.run() == "told"
    assert len(desk.slack.posted) == 2


def test_day_is_that_of_the_fleets_zone() -> None:
    desk = Desk(settings=Digest(timezone="Pacific/Auckland"))
    desk.dead()
    desk.morning.run()  # noon in London is past midnight in Auckland
    desk.clock.advance(11 * 3600)

    assert desk.morning.run() == "told before"


def test_digest_that_was_not_told_is_told_by_the_next_call(desk: Desk) -> None:
    desk.dead()
    desk.slack.answers = [answer(500, "")] * 4

    with pytest.raises(Unavailable):
        desk.morning.run()
    assert desk.morning.run() == "told"

    (group,) = desk.reader.report().groups
    assert group.decision.first_told is not None


def test_message_stays_within_slacks_limits_whatever_is_in_it(desk: Desk) -> None:
    for number in range(60):
        desk.dead(
            message="<@U123> & `code` *bold* " + "x" * 5_000,
            fingerprint=f"{number:016x}",
            downstream="v" * 300,
        )

    desk.morning.run()

    assert slack_limits.faults(desk.slack.posted[0]) == []
    assert "<@U123>" not in said(desk)
    assert "and 52 more faults" in said(desk)
