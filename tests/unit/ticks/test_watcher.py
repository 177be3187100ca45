"""What the watcher tells apart: missed, late, overrun, failed, and none of these."""

from __future__ import annotations

import json
from collections import Counter
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from lambdas.shared.table import Row
from lambdas.shared.ticks import text_of
from tests.fakes.schedules import Clockwork

NIGHT = datetime(2026, 11, 30, 0, 2, 17, tzinfo=UTC)
SIX = NIGHT.replace(hour=6, minute=0, second=0)
DAILY = 'cron = "0 6 * * ? *"'
ID = f"cron:daily:{text_of(SIX)}"
NOTHING = {"missed": 0, "late": 0, "overruns": 0, "failed": 0}


class Watched:
    """One schedule, looked at every five minutes."""

    def __init__(self, *lines: str, start: datetime = NIGHT) -> None:
        self.made = Clockwork(start, {"daily": "\n".join(lines or [DAILY])})

    def until(self, end: datetime) -> dict[str, int]:
        """Look every five minutes until then, and return what was found in all."""
        found = Counter(NOTHING)
        while self.made.clock() < end:
            found.update(self.made.watcher.look())
            self.made.clock.advance(300)
        return dict(found)

    def come(self, at: datetime, planned: datetime = SIX) -> None:
        """Let the tick come then, and run."""
        self.made.clock.instant = at
        self.made.fire("daily", planned)
        for id_ in self.made.accepted():
            if self.made.run(id_) is None:
                self.made.deliver(id_)

    @property
    def reported(self) -> dict[str, datetime]:
        return self.made.reported("daily")


def hours(number: float) -> timedelta:
    return timedelta(hours=number)


def test_a_schedule_that_never_fired_is_found_and_reported_once() -> None:
    watched = Watched()

    found = watched.until(SIX + hours(12))

    assert found == {**NOTHING, "missed": 1}
    (report,) = watched.reported.values()
    assert SIX + timedelta(minutes=5) <= report <= SIX + timedelta(minutes=10)


def test_a_rate_that_never_fired_is_found_a_period_after_the_first_look() -> None:
    watched = Watched('rate = "2 hours"')

    watched.until(NIGHT + hours(4.5))

    assert [*watched.reported] == [text_of(NIGHT + hours(2)), text_of(NIGHT + hours(4))]


def test_a_rate_is_watched_in_the_phase_in_which_it_comes() -> None:
    watched = Watched('rate = "2 hours"')
    first = NIGHT + hours(0.5)

    watched.until(first)
    watched.come(first, first)
    watched.come(first + hours(2), first + hours(2))
    found = watched.until(first + hours(5))

    assert found["missed"] == 1
    assert [*watched.reported] == [text_of(first + hours(4))]


def test_fires_before_the_first_look_were_never_promised() -> None:
    """On the first deployment nothing is missing, however old the expression is."""
    watched = Watched(start=SIX + timedelta(minutes=20))

    assert watched.until(SIX + hours(20)) == NOTHING


def test_a_tick_that_comes_in_time_is_nothing_to_tell() -> None:
    watched = Watched()
    watched.until(SIX)

    watched.come(SIX + timedelta(minutes=4))

    assert watched.until(SIX + hours(12)) == NOTHING


def test_a_tick_that_comes_after_its_grace_is_late_and_not_missed() -> None:
    watched = Watched()
    watched.until(SIX)

    watched.come(SIX + timedelta(seconds=301))

    assert watched.until(SIX + hours(12)) == {**NOTHING, "late": 1}


def test_a_tick_that_comes_after_it_was_missed_is_late_as_well() -> None:
    watched = Watched()
    missed = watched.until(SIX + hours(1))

    watched.come(SIX + hours(2))

    assert missed == {**NOTHING, "missed": 1}
    assert watched.until(SIX + hours(12)) == {**NOTHING, "late": 1}


def test_a_tick_too_late_to_be_run_is_told_once() -> None:
    watched = Watched(DAILY, "max_lateness_seconds = 60", "grace_seconds = 3600")
    watched.until(SIX)

    watched.come(SIX + timedelta(minutes=2))

    assert watched.until(SIX + hours(12)) == {**NOTHING, "missed": 1}


@pytest.mark.parametrize(
    "line", ["grace_seconds = 1800", "flexible_minutes = 25"], ids=["grace", "window"]
)
def test_grace_and_window_are_waited_for(line: str) -> None:
    watched = Watched(DAILY, line)
    before = watched.until(SIX + timedelta(minutes=29))

    watched.come(SIX + timedelta(minutes=29))

    assert before == watched.until(SIX + hours(12)) == NOTHING


def test_disabled_schedule_is_not_missed_and_owes_nothing_when_it_is_back() -> None:
    watched = Watched()
    watched.until(SIX - hours(1))
    watched.made.change({"daily": f"{DAILY}\nenabled = false"})
    off = watched.until(SIX + hours(50))
    watched.made.change({"daily": DAILY})

    back = watched.until(SIX + hours(71.9))
    next_day = watched.until(SIX + hours(73))

    assert off == back == NOTHING
    assert next_day == {**NOTHING, "missed": 1}


def test_changed_schedule_is_watched_by_its_new_times_alone() -> None:
    watched = Watched()
    watched.until(SIX - hours(1))
    watched.made.change({"daily": 'cron = "0 * * * ? *"'})

    watched.until(SIX + hours(1.5))

    assert [*watched.reported] == [text_of(SIX), text_of(SIX + hours(1))]


def test_a_skipped_tick_is_a_legal_skip_but_the_one_before_has_overrun() -> None:
    watched = Watched('cron = "0 * * * ? *"', start=SIX - timedelta(minutes=2))
    made = watched.made
    watched.until(SIX)
    made.clock.instant = SIX
    made.fire("daily", SIX)
    made.crash(ID)
    table = made.table.rows[ID, "run#sweeper"]
    table["due_at"] += 5 * 3_600_000  # a run that is at work until eleven

    made.clock.instant = SIX + hours(1)
    made.fire("daily", SIX + hours(1))
    found = watched.until(SIX + hours(1.9))

    assert found == {**NOTHING, "overruns": 1}


def test_a_run_that_took_longer_than_its_period_is_told_when_it_is_over_already() -> (
    None
):
    watched = Watched('rate = "3 minutes"', start=SIX - timedelta(minutes=1))
    watched.made.watcher.look()
    watched.made.agent = lambda *_: watched.made.clock.advance(200)

    watched.come(SIX, SIX)
    watched.made.agent = lambda *_: None
    watched.come(SIX + timedelta(seconds=201), SIX + timedelta(minutes=3))

    assert watched.until(SIX + timedelta(minutes=10))["overruns"] == 1


def test_a_tick_whose_run_is_dead_has_failed() -> None:
    watched = Watched()
    watched.until(SIX)
    watched.made.clock.instant = SIX
    watched.made.fire("daily", SIX)
    watched.made.agent = lambda *_: 1 // 0
    watched.made.deliver(ID)
    retried = watched.until(SIX + timedelta(minutes=20))

    watched.made.deliver(ID, receive_count=5)

    assert retried == NOTHING
    assert watched.until(SIX + hours(12)) == {**NOTHING, "failed": 1}


def test_a_tick_that_no_worker_ever_began_has_failed() -> None:
    watched = Watched()
    watched.until(SIX)
    watched.made.clock.instant = SIX
    watched.made.fire("daily", SIX)

    assert watched.until(SIX + hours(12)) == {**NOTHING, "failed": 1}


@pytest.mark.parametrize(("catch_up", "ran"), [("all", 3), ("last", 1)])
def test_missed_fires_are_made_up_for_where_that_is_asked_for(
    catch_up: str, ran: int
) -> None:
    """The watcher was away as well: it finds three at once."""
    lines = [
        'cron = "0 * * * ? *"',
        f'catch_up = "{catch_up}"',
        "max_lateness_seconds = 60",
    ]
    watched = Watched(*lines, 'overlap = "queue"', start=SIX - timedelta(minutes=3))
    made = watched.made
    made.watcher.look()
    made.clock.instant = SIX + hours(2.2)

    found = made.watcher.look()
    for _ in range(4):
        for id_ in made.accepted():
            made.deliver(id_)
    again = watched.until(SIX + hours(2.9))

    assert found == {**NOTHING, "missed": 3}
    assert again == NOTHING
    assert len(made.accepted()) == ran


def test_found_things_are_counted_under_the_schedule_and_over_the_fleet(
    capsys: pytest.CaptureFixture[str],
) -> None:
    watched = Watched()
    watched.until(SIX + hours(1))
    watched.come(SIX + hours(2))
    watched.until(SIX + hours(3))

    told: Counter[tuple[str, str | None]] = Counter()
    for line in map(json.loads, capsys.readouterr().out.splitlines()):
        for group in line.get("_aws", {}).get("CloudWatchMetrics", []):
            (name,) = (metric["Name"] for metric in group["Metrics"])
            for dimensions in group["Dimensions"]:
                of = line["Schedule"] if dimensions == ["Schedule"] else None
                told[name, of] += sum(line[name])
    assert told["MissedFires", "daily"] == 1
    assert told["LateFires", "daily"] == told["LateFires", None] == 1
    assert told["WatcherHeartbeat", None] > 30


def test_of_two_looks_at_once_one_writes() -> None:
    """The other has read what the first one then changed."""
    watched = Watched()
    watched.until(SIX + timedelta(minutes=4))
    made = watched.made
    made.clock.advance(120)
    put = made.table.put

    def put_after_another(row: Row, **when: Any) -> bool:
        if row["sk"] == "watch" and not others:
            others.append(row)
            put({**row, "followed": "[]"}, **when)
        return bool(put(row, **when))

    others: list[Row] = []
    made.table.put = put_after_another
    made.watcher.look()

    assert others
    assert made.table.rows["schedule#daily", "watch"]["followed"] == "[]"


def test_a_long_outage_of_a_schedule_of_every_minute_is_judged_in_portions() -> None:
    watched = Watched('rate = "1 minute"', "grace_seconds = 60")
    watched.made.watcher.look()
    watched.made.clock.advance(24 * 3600)

    found = [watched.made.watcher.look()["missed"] for _ in range(4)]

    assert found == [500, 500, 439, 0]
