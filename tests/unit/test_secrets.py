"""Secrets are fetched rarely, rotated without a gap, and never guessed."""

from __future__ import annotations

import threading
import time
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta

import pytest

from lambdas.shared.errors import Misconfigured, Unavailable
from lambdas.shared.secrets import Secret, Secrets, parse
from tests.unit.receiver.door import FakeClock, FakeStore

NAME = "bellhop/github"
DOWN = Unavailable("the store did not answer")


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
def store() -> FakeStore:
    return FakeStore({NAME: "one"})


@pytest.fixture
def secrets(store: FakeStore, clock: FakeClock) -> Secrets:
    return Secrets(store, clock)


def test_warm_secret_costs_no_call_for_a_minute(
    secrets: Secrets, store: FakeStore, clock: FakeClock
) -> None:
    for _ in range(3):
        secrets.get(NAME)
        clock.advance(19.9)
    assert len(store.fetched) == 1

    clock.advance(1)
    secrets.get(NAME)
    assert len(store.fetched) == 2


def test_change_is_seen_after_a_minute(
    secrets: Secrets, store: FakeStore, clock: FakeClock
) -> None:
    secrets.get(NAME)
    store.texts[NAME] = "two"

    assert secrets.get(NAME).current == "one"
    clock.advance(60)
    assert secrets.get(NAME).current == "two"


def test_mismatch_looks_again_once_a_minute(
    secrets: Secrets, store: FakeStore, clock: FakeClock
) -> None:
    seen = secrets.get(NAME)

    assert [secrets.look_again(NAME, seen) for _ in range(9)] == [None] * 9
    assert len(store.fetched) == 2

    clock.advance(59)
    store.texts[NAME] = "two"
    assert secrets.look_again(NAME, seen) is None
    clock.advance(1)
    assert secrets.look_again(NAME, seen) == Secret(current="two")


def test_mismatch_of_many_threads_costs_one_fetch(clock: FakeClock) -> None:
    class SlowStore(FakeStore):
        def fetch(self, name: str) -> str:
            time.sleep(0.01)
            return super().fetch(name)

    store = SlowStore({NAME: "one"})
    secrets = Secrets(store, clock)
    seen = secrets.get(NAME)
    store.texts[NAME] = "two"
    ready = threading.Barrier(8)

    def mismatch() -> Secret | None:
        ready.wait()
        return secrets.look_again(NAME, seen)

    with ThreadPoolExecutor(8) as pool:
        found = [job.result() for job in [pool.submit(mismatch) for _ in range(8)]]

    assert found == [Secret(current="two")] * 8
    assert len(store.fetched) == 2


def test_secrets_of_two_sources_do_not_share_a_limit(
    secrets: Secrets, store: FakeStore
) -> None:
    store.texts["bellhop/slack"] = "three"
    for name in (NAME, "bellhop/slack"):
        secrets.look_again(name, secrets.get(name))

    assert sorted(store.fetched) == [NAME, NAME, "bellhop/slack", "bellhop/slack"]


def test_known_secret_serves_an_hour_while_the_store_is_down(
    secrets: Secrets, store: FakeStore, clock: FakeClock
) -> None:
    secrets.get(NAME)
    store.texts[NAME] = DOWN

    clock.advance(3600)
    assert secrets.get(NAME).current == "one"
    clock.advance(1)
    with pytest.raises(Unavailable):
        secrets.get(NAME)


def test_outage_is_not_asked_about_at_every_request(
    secrets: Secrets, store: FakeStore, clock: FakeClock
) -> None:
    secrets.get(NAME)
    store.texts[NAME] = DOWN
    clock.advance(61)

    for _ in range(10):
        secrets.get(NAME)
    assert len(store.fetched) == 2

    clock.advance(5)
    store.texts[NAME] = "two"
    assert secrets.get(NAME).current == "two"


def test_mismatch_while_the_store_is_down_is_nobodys_forgery(
    secrets: Secrets, store: FakeStore
) -> None:
    """It may be the new secret, which we cannot know: the sender must repeat."""
    seen = secrets.get(NAME)
    store.texts[NAME] = DOWN

    for _ in range(2):
        with pytest.raises(Unavailable):
            secrets.look_again(NAME, seen)


def test_deleted_secret_is_not_served_from_memory(
    secrets: Secrets, store: FakeStore, clock: FakeClock
) -> None:
    secrets.get(NAME)
    store.texts[NAME] = Misconfigured("no such secret")
    clock.advance(60)

    for _ in range(2):
        with pytest.raises(Misconfigured):
            secrets.get(NAME)
    assert len(store.fetched) == 2


def test_clock_that_is_turned_back_keeps_nothing_for_ever(
    secrets: Secrets, store: FakeStore, clock: FakeClock
) -> None:
    secrets.get(NAME)
    clock.advance(-86_400)
    store.texts[NAME] = "two"

    assert secrets.get(NAME).current == "two"


def test_both_secrets_live_until_the_stated_time() -> None:
    secret = parse(
        NAME,
        '{"current": "new", "previous": "old",'
        ' "previous_until": "2026-11-29T12:00:00Z"}',
    )
    end = datetime(2026, 11, 29, 12, 0, tzinfo=UTC)

    assert secret.live(end - timedelta(milliseconds=1)) == {
        "current": "new",
        "previous": "old",
    }
    assert secret.live(end) == {"current": "new"}


@pytest.mark.parametrize(
    ("text", "current"),
    [
        ("It's a Secret to Everybody", "It's a Secret to Everybody"),
        ("pasted\n", "pasted"),
        (" blanks count ", " blanks count "),
        ('"quoted"', '"quoted"'),
        ("42", "42"),
        ('{"current": "x"}', "x"),
        (' \n{"current": "x"}', "x"),
        ('{"current": "x\\n"}', "x"),
        ('\ufeff{"current": "x"}', "x"),
        ("\ufeffpasted\r\n", "pasted"),
        ('{"current": "x", "previous": null, "previous_until": null}', "x"),
    ],
)
def test_form_is_read(text: str, current: str) -> None:
    assert parse(NAME, text) == Secret(current=current)


@pytest.mark.parametrize(
    "text",
    [
        "",
        " ",
        "\n",
        "{",
        "{}",
        '{"current": ""}',
        '{"current": 7}',
        '{"current": " "}',
        '{"current": "x", "previous": 7}',
        '{"current": "x", "previous": "y", "previous_until": "soon"}',
        '{"current": "x", "previous": "y", "previous_until": 7}',
        '{"a":' * 100_000,
    ],
    ids=lambda text: repr(text[:60]),
)
def test_other_form_is_our_fault_and_is_not_quoted(text: str) -> None:
    with pytest.raises(Misconfigured, match=NAME) as refused:
        parse(NAME, text)

    assert refused.value.__context__ is None or refused.value.__suppress_context__


def test_secret_does_not_show_itself() -> None:
    assert "hush" not in repr(Secret(current="hush", previous="hush"))
