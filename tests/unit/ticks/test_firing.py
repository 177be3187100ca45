"""A tick comes: accepted once, put in line, skipped or missed, and written down."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from lambdas.cron.request import NotATick, Request
from lambdas.shared.errors import Unavailable
from lambdas.shared.story import State
from lambdas.shared.ticks import Fired, Tick, item_key, schedule_of
from tests.fakes.ledger import FakeTable
from tests.fakes.schedules import Clockwork

SIX = datetime(2026, 11, 30, 6, 0, tzinfo=UTC)
HOUR = timedelta(hours=1)
HOURLY = 'cron = "0 * * * ? *"'


def clockwork(*lines: str, now: datetime = SIX) -> Clockwork:
    return Clockwork(now, {"hourly": "\n".join([HOURLY, *lines])})


def id_of(planned: datetime) -> str:
    return f"cron:hourly:{planned:%Y-%m-%dT%H:%M:%SZ}"


@pytest.mark.parametrize("overlap", ["skip", "queue", "concurrent"])
def test_tick_delivered_three_times_is_one_run(overlap: str) -> None:
    ran = []
    made = clockwork(f'overlap = "{overlap}"')
    made.agent = lambda event, _: ran.append(event.payload)

    came = [made.fire("hourly", SIX)]
    (id_,) = made.accepted()
    came.append(made.fire("hourly", SIX))
    made.deliver(id_)
    came.append(made.fire("hourly", SIX))
    made.deliver(id_, receive_count=2)

    assert came == [Fired.RUN, Fired.DUPLICATE, Fired.DUPLICATE]
    assert made.accepted() == [id_] == [id_of(SIX)]
    assert ran == [{"schedule": "hourly", "planned": "2026-11-30T06:00:00Z"}]


def test_acceptance_of_a_tick_is_the_one_conditional_write() -> None:
    table = FakeTable()
    made = Clockwork(SIX, {"hourly": HOURLY + '\noverlap = "concurrent"'}, table=table)

    made.fire("hourly")

    assert table.calls == ["get", "put", "update"]
    row = table.rows[id_of(SIX), "event"]
    assert (row["source"], row["kind"], row["via"]) == ("cron", "tick", "door")
    assert row["occurred_at"] == "2026-11-30T06:00:00.000Z"


def test_fire_is_counted_only_after_it_was_written_down(
    capsys: pytest.CaptureFixture[str],
) -> None:
    made = clockwork('overlap = "concurrent"')
    made.table.failures = [Unavailable("down")]

    with pytest.raises(Unavailable):
        made.fire("hourly")
    before = capsys.readouterr().out
    made.fire("hourly")

    assert "CronTickFired" not in before
    assert capsys.readouterr().out.count('"CronTickFired":[1') == 1


def test_every_item_is_an_event_with_an_id_of_its_own() -> None:
    made = clockwork('items = ["acme.com", "b c", { n = 1 }]')

    made.fire("hourly", SIX)
    again = made.fire("hourly", SIX)

    ids = [f"{id_of(SIX)}:{item_key(i)}" for i in ("acme.com", "b c", {"n": 1})]
    assert sorted(made.accepted()) == sorted(ids)
    assert ids[0].endswith(":acme.com")
    assert again is Fired.DUPLICATE
    event = made.ledger.event(ids[2])
    assert event is not None
    assert event.payload["item"] == {"n": 1}


def test_fan_out_that_broke_off_is_completed_by_the_next_delivery() -> None:
    made = clockwork('items = ["a", "b", "c"]')
    puts = []

    class Breaks(FakeTable):
        def put(self, row: object, **when: object) -> bool:
            puts.append(row)
            if len(puts) == 2:
                raise Unavailable("down")
            return super().put(row, **when)  # type: ignore[arg-type]

    made = Clockwork(
        SIX, {"hourly": HOURLY + '\nitems = ["a", "b", "c"]'}, table=Breaks()
    )
    with pytest.raises(Unavailable):
        made.fire("hourly", SIX)

    assert made.fire("hourly", SIX) is Fired.RUN
    assert len(made.accepted()) == 3


def test_an_item_keeps_its_id_wherever_it_stands() -> None:
    one = Tick(schedule="s", planned=SIX, items=("a", "b"))
    other = Tick(schedule="s", planned=SIX, items=("new", "b", "a"))

    assert set(one.ids) < set(other.ids)


@pytest.mark.parametrize(
    ("lines", "late", "fired"),
    [
        ("", timedelta(hours=20), Fired.RUN),
        ("max_lateness_seconds = 600", timedelta(seconds=600), Fired.RUN),
        ("max_lateness_seconds = 600", timedelta(seconds=601), Fired.MISSED),
        ("max_lateness_seconds = 600\nflexible_minutes = 10", 2 * HOUR / 6, Fired.RUN),
        ('max_lateness_seconds = 600\ncatch_up = "all"', 5 * HOUR, Fired.RUN),
        ('max_lateness_seconds = 600\ncatch_up = "last"', HOUR * 0.9, Fired.RUN),
        ('max_lateness_seconds = 600\ncatch_up = "last"', HOUR, Fired.MISSED),
    ],
)
def test_a_late_tick_is_run_only_as_the_schedule_says(
    lines: str, late: timedelta, fired: Fired
) -> None:
    made = clockwork(lines, now=SIX + late)

    assert made.fire("hourly", SIX) is fired

    is_missed = fired is Fired.MISSED
    assert made.accepted() == ([] if is_missed else [id_of(SIX)])
    run = made.run(id_of(SIX))
    assert (run is not None) is is_missed
    if run is not None and run.reason is not None:
        assert (run.state, run.reason.category) == (State.MISSED, "too_late")
        assert "max_lateness_seconds is 600" in run.reason.message


def test_missed_tick_is_not_run_when_a_message_of_it_turns_up() -> None:
    """Its run row refuses every claim, whatever a second delivery decided."""
    made = clockwork("max_lateness_seconds = 60", now=SIX + HOUR)
    made.agent = lambda *_: pytest.fail("it ran")

    made.fire("hourly", SIX)
    made.deliver(id_of(SIX))

    assert made.state_of(id_of(SIX)) is State.MISSED


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (
            {"schedule": "hourly", "planned": "<aws.scheduler.scheduled-time>"},
            "Scheduler has not put its planned time in place",
        ),
        ({"schedule": "hourly", "planned": "now"}, "want an RFC 3339 time, got 'now'"),
        ({"schedule": "hourly", "planned": "2026-11-30T06:00"}, "a time with its zone"),
        ({"schedule": "hourly"}, "want schedule and planned"),
        ({}, "want schedule and planned"),
        (
            {"schedule": "gone", "planned": "2026-11-30T06:00:00Z"},
            "no schedule 'gone' in fleet.toml",
        ),
    ],
)
def test_what_is_no_tick_is_refused_loudly(given: dict[str, str], said: str) -> None:
    with pytest.raises(NotATick, match=said):
        Request.read(given, clockwork().fleet)


def test_planned_time_is_read_in_whatever_zone_it_is_told() -> None:
    given = {"schedule": "hourly", "planned": "2026-11-30T07:00:00.500+01:00"}

    assert Request.read(given, clockwork().fleet).planned == SIX


@pytest.mark.parametrize(
    ("event_id", "schedule"),
    [
        ("cron:hourly:2026-11-30T06:00:00Z", "hourly"),
        ("cron:hourly:2026-11-30T06:00:00Z:item", "hourly"),
        ("github:cron:hourly", None),
        ("crony:hourly:1", None),
    ],
)
def test_schedule_of_an_event_is_read_from_its_id(
    event_id: str, schedule: str | None
) -> None:
    assert schedule_of(event_id) == schedule
