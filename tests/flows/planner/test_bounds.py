"""What hostile calendars take of the planner's memory and time, measured."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from lambdas.planner import bounded
from lambdas.planner.feed import get
from lambdas.planner.occurrence import Refused, Window
from lambdas.shared.adapters import https
from lambdas.shared.errors import Unavailable
from stacks.calendars import MEMORY_MB
from tests.fakes.calendars import calendar, utc

# What Lambda's runtime and our imports leave of the function's memory.
SPARE_MB = 200
LONGEST_SECONDS = 30

# The planner's two processes, as they are: it fetches and keeps, its child expands.
PROGRAM = """
import json, resource, sys, time
from datetime import UTC, datetime
from functools import partial
from lambdas.planner import bounded
from lambdas.planner.google.api import Api
from lambdas.planner.occurrence import Window
from lambdas.planner.record import Record
from lambdas.planner.sources import GoogleFeed, IcalFeed
from lambdas.shared.adapters import https
from lambdas.shared.errors import BellhopError
from lambdas.shared.fleet import Calendar

kind, seconds, most = sys.argv[1], float(sys.argv[2]), int(sys.argv[3])
resource.setrlimit(resource.RLIMIT_AS, (most, most))
key = json.dumps({"type": "authorized_user", "client_id": "c",
                  "client_secret": "s", "refresh_token": "r"})

class Kept(dict):
    def put(self, name, data): self[name] = data

expand = partial(bounded.expand, seconds=seconds)
feed = IcalFeed(address_of=lambda _: "https://feeds.example/a.ics",
                exchange=https.exchange, bodies=Kept(), expand=expand)
if kind == "google":
    api = Api(exchange=https.exchange, token_of=lambda *_, **__: "token")
    feed = GoogleFeed(key_of=lambda _: key, api=api, bodies=Kept(), expand=expand)
window = Window(since=datetime(2026, 11, 1, tzinfo=UTC),
                until=datetime(2027, 2, 1, tzinfo=UTC))
calendar = Calendar(name="a", feed=kind, secret_name="a", calendar_id="primary",
                    rules=())
begun = time.monotonic()
try:
    reading, _ = feed(calendar, window, Record(calendar="a", since=window.since))
    said = f"{len(reading.occurrences)} occurrences"
except BellhopError as error:
    said = str(error)
mb = [resource.getrusage(who).ru_maxrss / 1024
      for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
print(json.dumps([said, time.monotonic() - begun, *mb]))
"""

Chunks = Callable[[], Iterator[bytes]]


@pytest.fixture
def site() -> Iterator[Any]:
    """A site whose ``chunks`` are sent, whoever asks for whatever."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.end_headers()
            try:
                for chunk in self.server.chunks():  # type: ignore[attr-defined]
                    self.wfile.write(chunk)
            except OSError:
                self.close_connection = True  # it has heard enough

        def log_message(self, *_: Any) -> None: ...

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.02,))
        thread.start()
        yield server
        server.shutdown()
        thread.join()


def read(
    site: Any, chunks: Chunks, kind: str = "ical", seconds: int = LONGEST_SECONDS
) -> str:
    """Let a planner read it; return what it says, once its bounds are seen to hold."""
    site.chunks = chunks
    most = (MEMORY_MB - SPARE_MB) * 1024**2
    world = f"http://127.0.0.1:{site.server_port}"
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, kind, str(seconds), str(most)],
        env={"PATH": os.environ["PATH"], "BELLHOP_WORLD_URL": world},
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    said, seconds, own_mb, child_mb = json.loads(done.stdout.splitlines()[-1])
    print(f"{said:.60}: {seconds:.1f} s, {own_mb:.0f} and {child_mb:.0f} MB")  # noqa: T201 - measured
    # The largest moments of both, though they are not the same moment.
    assert own_mb + child_mb < MEMORY_MB - SPARE_MB
    return str(said)


def entry(*lines: str) -> str:
    given = ["BEGIN:VEVENT", "UID:a", "DTSTART:20261201T120000Z", *lines, "END:VEVENT"]
    return "\r\n".join(given)


def feed(*entries: str) -> Chunks:
    return lambda: iter([calendar(*entries)])


def of_50_mb() -> Iterator[bytes]:
    yield b"BEGIN:VCALENDAR\r\n"
    for _ in range(50):
        yield (entry("SUMMARY:Review").encode() + b"\r\n") * 15_000
    yield b"END:VCALENDAR\r\n"


def endless() -> Iterator[bytes]:
    yield b"BEGIN:VCALENDAR\r\n"
    while True:
        yield b"X-NOTHING:1\r\n" * 1000


def list_of(item: bytes) -> Chunks:
    def chunks() -> Iterator[bytes]:
        yield b'{"items": ['
        # Just within what is read: none of it is refused for its size alone.
        yield item * (19_900_000 // len(item)) + b"{}]}"

    return chunks


@pytest.mark.parametrize(
    ("chunks", "said"),
    [
        (of_50_mb, "more than 10000000 bytes"),
        (endless, "more than 10000000 bytes"),
        (feed(entry("RRULE:FREQ=SECONDLY")), "0 occurrences"),
        (feed(entry("RRULE:FREQ=DAILY;COUNT=1000000000")), "62 occurrences"),
        (feed(entry("DESCRIPTION:" + "x" * 9_900_000)), "1 occurrences"),
    ],
    ids=["50 MB", "endless", "every second", "COUNT=1e9", "one line"],
)
def test_hostile_feed_stays_within_the_planner_s_memory(
    site: Any, chunks: Chunks, said: str
) -> None:
    assert said in read(site, chunks)


def test_feed_that_fills_memory_is_ended_in_time(site: Any) -> None:
    """A million lines are as many objects to the library."""
    lines = feed(entry(*["X:1"] * 1_900_000))

    assert "longer than 4 s" in read(site, lines, seconds=4)


def test_feed_that_wants_more_memory_than_there_is_is_refused() -> None:
    window = Window(since=utc("2026-11-01T00:00:00"), until=utc("2026-12-31T00:00:00"))
    small, large = calendar(entry()), calendar(entry("DESCRIPTION:" + "x" * 9_900_000))
    within = partial(bounded.expand, window=window, zone="UTC", memory_bytes=50_000_000)

    assert len(within(small).occurrences) == 1
    with pytest.raises(Refused, match=r"too much memory|MemoryError"):
        within(large)


def test_redirect_into_a_private_network_is_not_followed() -> None:
    """By the real way out: what looks public may lead there."""
    asked = []

    def exchange(url: str, **words: Any) -> Any:
        asked.append(url)
        if url == "https://feeds.example/a.ics":
            return https.Answer(
                302, {"location": "https://169.254.169.254/latest"}, b""
            )
        return https.exchange(url, **words)

    with pytest.raises(Unavailable, match=r"private network: 169\.254\.169\.254"):
        get(exchange, "https://feeds.example/a.ics")

    assert asked[-1] == "https://169.254.169.254/latest"


@pytest.mark.parametrize(
    ("chunks", "said"),
    [
        (of_50_mb, "more than 20000000 bytes"),
        (list_of(b"{},"), "more than 20000 entries"),
        (
            list_of(b'{"id":"%d","description":"%s"},' % (1, b"x" * 8_000)),
            "0 occurrences",
        ),
    ],
    ids=["50 MB", "nothing often", "one often"],
)
def test_hostile_list_of_google_s_stays_within_the_planner_s_memory(
    site: Any, chunks: Chunks, said: str
) -> None:
    assert said in read(site, chunks, "google")


def dates(size: int) -> list[str]:
    return ["RDATE:" + ",".join(["20261201T120000Z"] * (size // 17))]


def parameters(size: int) -> list[str]:
    return ["X-A;" + ";".join(f"P{n}=1" for n in range(size // 10)) + ":1"]


def categories(size: int) -> list[str]:
    return ["CATEGORIES:" + ",".join(f"c{n}" for n in range(size // 9))]


def alarms(size: int) -> list[str]:
    return ["BEGIN:VALARM\r\nEND:VALARM"] * (size // 28)


def exceptions(size: int) -> list[str]:
    days = (f"EXDATE:19{n:06}T120000Z" for n in range(size // 25))
    return ["RRULE:FREQ=DAILY", *days]


@pytest.mark.parametrize("lines", [dates, parameters, categories, alarms, exceptions])
def test_feed_of_one_thing_alone_stays_within_the_planner_s_memory(
    site: Any, lines: Callable[[int], list[str]], full_size: bool
) -> None:
    size = 9_900_000 if full_size else 300_000

    said = read(site, feed(entry(*lines(size))))

    refused = "took longer" in said or said == "expanding it takes too much memory"
    assert "occurrences" in said or refused
