"""A quarter of a busy calendar, day by day: every task begins once, in time.

What should have happened is worked out here by hand, from what was done to the
calendar, and not by the planner.
"""

from __future__ import annotations

from collections import Counter
from datetime import datetime, timedelta

import pytest

from tests.fakes.calendars import Office, utc
from tests.fakes.google_office import GoogleOffice

START = utc("2026-10-01T08:00:00")
END = utc("2027-01-08T00:00:00")
# The longest that a change may stay unseen, in this simulation.
LOOKS_EVERY = timedelta(hours=12)

NEW_YORK = ";TZID=America/New_York:"
BERLIN = ";TZID=Europe/Berlin:"
DAY = timedelta(days=1)
# The switch back to winter: New York 2026-11-01 (06:00 UTC), Berlin 2026-10-25.
WEEKLY = "RRULE:FREQ=WEEKLY;UNTIL=20261231T235959Z"


def troubled(office: Office, number: int) -> None:
    """Let Google forget its tokens now and then, and send few entries a page."""
    if isinstance(office, GoogleOffice):
        office.google.page = 1 + number % 7
        if number % 5 == 0:
            office.google.expire_sync_tokens()
        if number % 3 == 0:
            office.google.revoke_access_tokens()


@pytest.mark.parametrize("kind", [Office, GoogleOffice], ids=["ical", "google"])
def test_quarter_of_changes_begins_every_task_once_at_the_right_instant(
    kind: type[Office],
) -> None:
    office, done = kind(START), Counter[str]()

    def change(what: str, uid: str, title: str, start: str, *lines: str) -> None:
        office.put(uid, title, start, *lines)
        done[what] += 1
        troubled(office, done.total())
        office.look()

    change("created", "digest", "Client digest", f"{NEW_YORK}20261005T090000", WEEKLY)
    for end in ("20261031", "20261130", "20261231"):
        change("created", f"close-{end}", "Month end", f"{NEW_YORK}{end}T170000")
    for number in range(1, 13):
        day = datetime(2026, 10, 3) + timedelta(days=7 * number)  # noqa: DTZ001
        change("created", f"review-{number}", "Review", f":{day:%Y%m%d}T120000Z")

    office.go(utc("2026-10-20T00:00:00"), every=LOOKS_EVERY)
    change("moved", "review-4", "Review", ":20261103T120000Z")
    change("renamed", "review-5", "Review of the books", ":20261107T120000Z")
    change("cancelled", "review-6", "Review", ":20261114T120000Z", "STATUS:CANCELLED")
    # Across the switch, from New York's clocks to Berlin's: 23:00 UTC becomes 16:00.
    change("zone changed", "close-20261031", "Month end", f"{BERLIN}20261031T170000")

    office.go(utc("2026-10-30T00:00:00"), every=LOOKS_EVERY)
    # Its work began on the 29th: all three change nothing about that.
    change("renamed", "close-20261031", "End of October", f"{BERLIN}20261031T170000")
    change("moved", "close-20261031", "Month end", f"{BERLIN}20261102T170000")
    change("moved", "review-8", "Review", ":20261220T120000Z")
    change("moved", "review-8", "Review", ":20261129T120000Z")

    office.go(utc("2026-11-27T18:00:00"), every=LOOKS_EVERY)
    # Begun two days ago, not yet due; from now on it comes every month.
    change("moved", "close-20261130", "Month end", f"{NEW_YORK}20261129T170000")
    office.go(utc("2026-11-28T06:00:00"), every=LOOKS_EVERY)
    change(
        *("made recurring", "close-20261130", "Month end"),
        *(f"{NEW_YORK}20261129T170000", "RRULE:FREQ=MONTHLY;COUNT=2"),
    )
    del office.events["review-10"]
    # A whole series at another hour: those that have begun are the same ones.
    change("moved", "digest", "Client digest", f"{NEW_YORK}20261005T100000", WEEKLY)
    office.go(END, every=LOOKS_EVERY)
    tell(done, office)
    assert sorted(at for at, _ in office.begun) == sorted(by_hand())


def tell(done: Counter[str], office: Office) -> None:
    """Say how much was simulated, and that nothing was begun twice."""
    tasks = Counter(id_ for _, id_ in office.begun)
    print(  # noqa: T201 - how much was simulated
        f"\n{sum(done.values())} changes ({dict(done)}),"
        f" {len(tasks)} tasks begun, {sum(tasks.values()) - len(tasks)} twice"
    )
    assert max(tasks.values()) == 1


def by_hand() -> list[datetime]:
    four_hours = timedelta(hours=4)
    digests = [
        # 09:00 in New York: 13:00 UTC until the switch, 14:00 after it.
        *(utc("2026-10-05T13:00:00") + 7 * DAY * n for n in range(4)),
        *(utc("2026-11-02T14:00:00") + 7 * DAY * n for n in range(4)),
        # 10:00 from then on.
        *(utc("2026-11-30T15:00:00") + 7 * DAY * n for n in range(5)),
    ]
    closes = [
        utc("2026-10-31T16:00:00"),  # 17:00 in Berlin, in winter
        utc("2026-11-29T22:00:00"),
        utc("2026-12-29T22:00:00"),  # the second of the series
        utc("2026-12-31T22:00:00"),
    ]
    reviews = {n: utc("2026-10-03T12:00:00") + 7 * DAY * n for n in range(1, 13)}
    reviews[4] = utc("2026-11-03T12:00:00")
    reviews[8] = utc("2026-11-29T12:00:00")
    for gone in (6, 10):
        del reviews[gone]
    return [
        *(each - four_hours for each in digests),
        *(each - 2 * DAY for each in closes),
        *(each - DAY for each in reviews.values()),
    ]
