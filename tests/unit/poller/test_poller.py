"""A feed over time: what is accepted, once, in which order; and what is not."""

from __future__ import annotations

import json
import random
from datetime import timedelta

import pytest

from lambdas.poller.cursor import Cursor
from lambdas.shared.errors import Misconfigured, Unavailable
from tests.fakes.feeds import START, URL, FakeAnswer, Kiosk, item, numbered

HOUR = timedelta(hours=1)


def ids(first: int, last: int) -> list[str]:
    return [f"i{n}" for n in range(first, last + 1)]


@pytest.mark.parametrize(
    ("first_run", "accepted"),
    [("", []), ('first_run = "all"', ids(1, 5)), ("first_run = 2", ids(4, 5))],
    ids=["nothing", "all", "the newest two"],
)
def test_first_run_accepts_what_was_chosen_and_the_second_what_is_new(
    first_run: str, accepted: list[str]
) -> None:
    kiosk = Kiosk(first_run)
    kiosk.publish(*numbered(5))

    said = kiosk.poll()

    assert kiosk.accepted == accepted
    assert (said["state"], said["items"]) == ("read", 5)
    assert said["accepted"] + said["passed"] == 5
    kiosk.publish(*numbered(7))
    assert kiosk.poll()["accepted"] == 2
    assert kiosk.poll()["accepted"] == 0
    assert kiosk.accepted == [*accepted, "i6", "i7"]


def test_items_are_accepted_by_their_times_where_all_have_one() -> None:
    days = {"a": "2026-11-03", "b": "2026-11-01", "c": "2026-11-02"}
    kiosk = Kiosk('first_run = "all"')
    kiosk.publish(*[item(name, pubDate=day) for name, day in days.items()])

    kiosk.poll()

    assert kiosk.accepted == ["b", "c", "a"]


def test_sudden_crowd_is_taken_run_after_run_and_none_is_left_out(
    full_size: bool,
) -> None:
    """Ten thousand in full size."""
    run = 1000 if full_size else 100
    kiosk = Kiosk(f"max_items = {run}")
    kiosk.publish()
    kiosk.poll()
    kiosk.publish(*numbered(10 * run), etag='"big"')

    rests = [kiosk.poll()["rest"] for _ in range(10)]

    assert rests == [*range(9 * run, 0, -run), 0]
    assert kiosk.accepted == ids(1, 10 * run)
    # Only once nothing is left is it asked whether anything has changed.
    assert kiosk.poll()["state"] == "unchanged"
    row = kiosk.ledger.table.rows["cursor#news", "cursor"]
    # Of ten thousand 120 KB, where a row may have 400.
    assert len(row["marks"]) == 12 * 10 * run


def test_item_that_vanished_and_came_back_is_not_new() -> None:
    kiosk = Kiosk()
    kiosk.publish(*numbered(5))
    kiosk.poll()
    for few in ([], numbered(1), numbered(5)):
        kiosk.publish(*few)
        kiosk.poll()

    assert kiosk.accepted == []


def test_item_is_remembered_for_longer_than_the_ledger_remembers_its_event() -> None:
    kiosk = Kiosk('first_run = "all"')
    kiosk.publish(*numbered(1))
    kiosk.poll()
    del kiosk.ledger.table.rows["news:i1", "event"]

    assert kiosk.poll(later=timedelta(days=90))["accepted"] == 0


def test_run_that_died_after_accepting_repeats_it_without_harm() -> None:
    kiosk = Kiosk('first_run = "all"')
    kiosk.publish(*numbered(3))
    accepted = kiosk.ledger.accept
    left = [None, None]

    def dies_at_the_third(event: object, **_: object) -> bool:
        if not left:
            raise KeyboardInterrupt
        left.pop()
        return accepted(event)  # type: ignore[arg-type]

    kiosk.ledger.accept = dies_at_the_third  # type: ignore[method-assign]
    with pytest.raises(KeyboardInterrupt):
        kiosk.poll()
    kiosk.ledger.accept = accepted  # type: ignore[method-assign]

    said = kiosk.poll()

    assert (said["accepted"], said["duplicates"]) == (1, 2)
    assert kiosk.accepted == ids(1, 3)


def test_ledger_that_fails_fails_the_run_and_the_next_one_makes_it_good() -> None:
    kiosk = Kiosk('first_run = "all"')
    kiosk.publish(*numbered(2))
    kiosk.ledger.bodies.failures = []
    kiosk.ledger.table.lost_answers = [Unavailable("throttled")]
    with pytest.raises(Unavailable):
        kiosk.poll()
    # Its own answer was lost when it took the row: nobody may look until it ends.
    assert kiosk.poll(later=timedelta(0))["state"].startswith("busy")

    assert kiosk.poll()["accepted"] == 2


def test_two_at_once_fetch_once() -> None:
    kiosk = Kiosk('first_run = "all"')
    kiosk.publish(*numbered(2))
    other: list[str] = []
    exchange = kiosk.site.__call__

    class Beside:
        def __call__(self, url: str, **asked: object) -> FakeAnswer:
            if not other:
                other.append("looks")
                other.append(kiosk.new_poller().poll("news")["state"])
            return exchange(url, **asked)  # type: ignore[arg-type]

    kiosk.site = Beside()  # type: ignore[assignment]
    kiosk.poller = kiosk.new_poller()

    assert kiosk.poll()["accepted"] == 2
    assert other == ["looks", "busy: another run is looking"]


@pytest.mark.parametrize(
    ("headers", "head"),
    [({"cache_control": "max-age=7200"}, ""), ({}, "<ttl>120</ttl>")],
    ids=["Cache-Control", "ttl"],
)
def test_feed_is_looked_at_no_more_often_than_it_asks(
    headers: dict[str, str], head: str
) -> None:
    kiosk = Kiosk()
    kiosk.publish(head, *numbered(1), **headers)

    states = [kiosk.poll()["state"][:7] for _ in range(9)]

    assert states == ["read", *["not yet"] * 3, "read", *["not yet"] * 3, "read"]
    assert len(kiosk.site.asked) == 3


def test_feed_that_wants_a_year_of_rest_is_looked_at_every_day() -> None:
    kiosk = Kiosk()
    kiosk.publish(cache_control="max-age=31536000")
    kiosk.poll()

    assert kiosk.poll(later=timedelta(days=1))["state"] == "read"


def test_site_that_is_busy_is_left_alone_for_as_long_as_it_says() -> None:
    kiosk = Kiosk('first_run = "all"')
    kiosk.site.pages[URL] = FakeAnswer(429, {"retry-after": "5400"})
    assert kiosk.poll()["state"] == "not obeyed: feeds.example answered 429"
    kiosk.publish(*numbered(1))

    assert [kiosk.poll()["state"][:7] for _ in range(3)] == [
        "not yet",
        "not yet",
        "read",
    ]


def test_feed_that_is_gone_is_not_asked_again_until_somebody_says_so(
    capsys: pytest.CaptureFixture[str],
) -> None:
    kiosk = Kiosk()
    kiosk.site.pages[URL] = FakeAnswer(410)
    told = "not obeyed: feeds.example answered 410: the feed is gone for good"
    assert [kiosk.poll()["state"] for _ in range(3)] == [told] * 3
    assert len(kiosk.site.asked) == 1
    assert capsys.readouterr().out.count('"FeedRefused":[1.0]') == 3

    kiosk.publish(*numbered(1))
    assert kiosk.poller.poll("news", again=True)["state"] == "read"
    assert kiosk.poll()["state"] == "read"


def test_other_address_forgets_what_the_site_said_and_no_item() -> None:
    table = '[sources.news]\nsender = "feed"\nformat = "rss"\n'
    kiosk = Kiosk(table=table)
    kiosk.secrets["bellhop/news"] = URL
    kiosk.publish(*numbered(3), etag='"a"')
    kiosk.poll()
    kiosk.site.pages[URL] = FakeAnswer(410)
    kiosk.poll()

    moved = "https://new.example/feed"
    kiosk.secrets["bellhop/news"] = moved
    kiosk.publish(*numbered(4))
    kiosk.site.pages[moved] = kiosk.site.pages[URL]
    said = kiosk.poll()

    assert (said["state"], kiosk.accepted) == ("read", ["i4"])
    assert "if-none-match" not in kiosk.site.asked[-1][1]


def test_move_for_good_is_told_once(caplog: pytest.LogCaptureFixture) -> None:
    kiosk = Kiosk()
    moved = "https://new.example/feed"
    kiosk.publish(*numbered(1))
    kiosk.site.pages[moved] = kiosk.site.pages[URL]
    kiosk.site.pages[URL] = FakeAnswer(301, {"location": moved})

    assert kiosk.poll()["moved_to"] == "new.example"
    kiosk.poll()
    assert caplog.messages.count("feed moved") == 1


@pytest.mark.parametrize(
    ("authorization", "header"),
    [
        ("bearer", ("authorization", "Bearer user:key")),
        ("basic", ("authorization", "Basic dXNlcjprZXk=")),
        ("header:X-Api-Key", ("x-api-key", "user:key")),
    ],
)
def test_secret_is_shown_to_the_site(
    authorization: str, header: tuple[str, str]
) -> None:
    kiosk = Kiosk(f'authorization = "{authorization}"')
    kiosk.secrets["bellhop/news"] = "user:key"
    kiosk.publish()

    kiosk.poll()

    assert header in kiosk.site.asked[0][1].items()


def test_secret_that_no_header_can_hold_is_said_and_not_sent() -> None:
    kiosk = Kiosk('authorization = "bearer"')
    kiosk.secrets["bellhop/news"] = "key\r\nx-evil: 1"

    assert kiosk.poll()["state"].startswith("not obeyed: the feed's secret: want")
    assert kiosk.site.asked == []


@pytest.mark.parametrize(
    "answer",
    [
        FakeAnswer(200, {}, b"<html>sign in</html>"),
        FakeAnswer(200, {}, b"<rss><channel>" + item("a").encode()),
        FakeAnswer(500),
        FakeAnswer(404),
    ],
    ids=["page", "cut off", "500", "404"],
)
def test_feed_that_is_not_obeyed_changes_nothing(
    answer: FakeAnswer, capsys: pytest.CaptureFixture[str]
) -> None:
    kiosk = Kiosk()
    kiosk.publish(*numbered(3), etag='"a"')
    kiosk.poll()
    good = kiosk.site.pages[URL]
    kiosk.site.pages[URL] = answer

    assert kiosk.poll()["state"].startswith("not obeyed: ")
    assert '"FeedRefused":[1.0]' in capsys.readouterr().out
    kiosk.site.pages[URL] = good
    assert kiosk.poll()["state"] == "unchanged"
    assert kiosk.accepted == []


def test_site_that_does_not_answer_is_asked_again_at_the_next_look() -> None:
    kiosk = Kiosk('first_run = "all"')
    kiosk.publish(*numbered(1))
    kiosk.site.error = Unavailable("feeds.example took too long")

    assert kiosk.poll()["state"] == "not obeyed: feeds.example took too long"
    assert kiosk.poll()["accepted"] == 1


def test_feed_that_is_not_in_the_fleet_is_our_own_fault() -> None:
    with pytest.raises(
        Misconfigured, match=r"no feed 'x' in fleet.toml; there are: news"
    ):
        Kiosk().poller.poll("x")


def test_preview_shows_what_would_be_accepted_and_writes_nothing() -> None:
    kiosk = Kiosk("first_run = 2\nmax_items = 1")
    kiosk.publish(*numbered(5), etag='"a"')

    look = kiosk.poller.preview("news")

    assert [event.id for event in look.events] == ["news:i4"]
    assert look.chosen is not None
    assert (look.chosen.passed, look.chosen.rest) == (3, 1)
    assert kiosk.ledger.table.rows == {}


def test_cursor_is_moved_by_nobody_who_has_lost_it() -> None:
    kiosk = Kiosk()
    cursor = Cursor(kiosk.ledger.table, "news")
    first = cursor.take("first", START)
    assert first is not None
    assert cursor.take("second", START) is None
    assert cursor.take("second", START + 2 * HOUR) is not None

    assert not cursor.move("first", first)
    cursor.let_go("first")
    assert cursor.take("third", START + 2 * HOUR) is None


@pytest.mark.parametrize("seed", range(30))
def test_whatever_happens_each_item_is_accepted_once(seed: int) -> None:
    """A site that flickers, a ledger that fails or loses answers, edits, crowds."""
    chance = random.Random(seed)  # noqa: S311
    kiosk = Kiosk('max_items = 4\nfirst_run = "all"')
    published: list[int] = []
    for _ in range(60):
        published += range(len(published), len(published) + chance.choice([0, 0, 1, 9]))
        shown = [n for n in reversed(published[-30:]) if chance.random() > 0.05]
        kiosk.publish(*[item(f"i{n}") for n in shown], etag=f'"{hash(tuple(shown))}"')
        match chance.randrange(6):
            case 0:
                kiosk.site.error = Unavailable("down")
            case 1:
                kiosk.ledger.table.failures = [Unavailable("throttled")]
            case 2:
                kiosk.ledger.table.lost_answers = [Unavailable("lost")]
            case 3:
                kiosk.site.pages[URL] = FakeAnswer(200, {}, b"<rss><channel><item>")
        try:
            kiosk.poll(later=chance.choice([timedelta(minutes=1), HOUR]))
        except Unavailable:
            pass
        finally:
            kiosk.ledger.table.failures.clear()
            kiosk.ledger.table.lost_answers.clear()
    kiosk.publish(*[item(f"i{n}") for n in reversed(published[-30:])])
    for _ in range(10):
        kiosk.poll(later=HOUR)

    last = {f"i{n}" for n in published[-30:]}
    assert last <= set(kiosk.accepted)
    assert len(kiosk.accepted) == len(set(kiosk.accepted))
    row = kiosk.ledger.table.rows["cursor#news", "cursor"]
    assert json.loads(row["feed"])["rest"] == 0
    assert "claim_token" not in row
