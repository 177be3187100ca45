"""Business hours, as a worker asks them."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lambdas.shared.fleet.hours import NoHoursError, business_hours

# A Monday.
_MONDAY = datetime(2026, 3, 2, tzinfo=UTC)
_MINUTES = st.integers(min_value=0, max_value=60 * 24 * 60)


def _at(day: int, hour: int, minute: int = 0) -> datetime:
    return _MONDAY + timedelta(days=day, hours=hour, minutes=minute)


@pytest.mark.parametrize(
    ("text", "now", "hours"),
    [
        ("MON-FRI 09:00-18:00", _at(0, 9), 0),
        ("MON-FRI 09:00-18:00", _at(4, 17), 8),
        ("MON-FRI 09:00-18:00", _at(0, 8, 59), None),
        ("MON-FRI 09:00-18:00", _at(0, 18), None),
        ("MON-FRI 09:00-18:00", _at(5, 12), None),
        ("SAT-MON 09:00-18:00", _at(6, 12), 3),
        ("TUE,THU 09:00-18:00", _at(2, 12), None),
        ("FRI 22:00-06:00", _at(5, 5), 7),
        ("FRI 22:00-06:00", _at(4, 5), None),
        ("MON-SUN 22:00-21:00", _at(3, 20), 22),
        ("MON-FRI 00:00-24:00", _at(2, 1), 49),
        ("MON-FRI 00:00-24:00", _at(5, 1), None),
    ],
)
def test_open_for_as_long_as_the_hours_have_lasted(
    text: str, now: datetime, hours: int | None
) -> None:
    open_for = business_hours(text, "UTC").open_for(now)

    assert open_for == (None if hours is None else timedelta(hours=hours))


def test_hours_are_local_and_follow_the_clock_change() -> None:
    """On 29 March 2026 Berlin's clock goes from 02:00 to 03:00."""
    hours = business_hours("SUN 00:00-06:00", "Europe/Berlin")

    assert hours.open_for(datetime(2026, 3, 29, 3, 59, tzinfo=UTC)) == timedelta(
        hours=4, minutes=59
    )
    assert hours.open_for(datetime(2026, 3, 29, 4, 0, tzinfo=UTC)) is None


@given(minutes=_MINUTES, other=st.sampled_from(["UTC", "Asia/Kolkata"]))
def test_every_moment_belongs_to_the_hours_or_to_the_rest(
    minutes: int, other: str
) -> None:
    now = _MONDAY + timedelta(minutes=minutes)
    by_day = business_hours("MON-SUN 08:00-20:00", other).open_for(now)
    by_night = business_hours("MON-SUN 20:00-08:00", other).open_for(now)

    assert (by_day is None) != (by_night is None)
    assert max(by_day or timedelta(0), by_night or timedelta(0)) < timedelta(hours=12)


@pytest.mark.parametrize("text", ["", "MON-FRI", "mon 09:00-18:00", "MON 9:00-18:00"])
def test_other_spellings_are_refused(text: str) -> None:
    with pytest.raises(NoHoursError, match="want hours like"):
        business_hours(text, "UTC")


def test_an_unknown_zone_is_refused() -> None:
    with pytest.raises(NoHoursError, match="no time zone 'Moon/Base'"):
        business_hours("MON 09:00-18:00", "Moon/Base")
