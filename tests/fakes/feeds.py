"""A fleet with feeds, in memory: the site is written by hand, the rest is real."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any
from xml.sax.saxutils import escape

from lambdas.poller.poller import Poller
from lambdas.shared.fleet import Fleet, parse
from tests.fakes.clock import FakeClock
from tests.fakes.ledger import FakeLedger

START = datetime(2026, 11, 29, 12, tzinfo=UTC)
URL = "https://feeds.example/news"
TABLE = f"""
[sources.news]
sender = "feed"
format = "rss"
url = "{URL}"
"""


@dataclass(frozen=True, slots=True)
class FakeAnswer:
    """What a site answers."""

    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes = b""


@dataclass
class FakeSite:
    """The other side: what lies at each address; anything else is 404.

    It honours ETags. ``error`` is raised instead, once.
    """

    pages: dict[str, FakeAnswer] = field(default_factory=dict)
    asked: list[tuple[str, dict[str, str]]] = field(default_factory=list)
    error: Exception | None = None

    def __call__(self, url: str, *, headers: Mapping[str, str], **_: Any) -> FakeAnswer:
        self.asked.append((url, dict(headers)))
        if self.error is not None:
            error, self.error = self.error, None
            raise error
        answer = self.pages.get(url, FakeAnswer(404))
        etag = answer.headers.get("etag")
        if etag and headers.get("if-none-match") == etag:
            return FakeAnswer(304, answer.headers)
        return answer


class Kiosk:
    """A fleet with the feed ``news``, and what it comes to; ``keys`` are added."""

    def __init__(self, keys: str = "", *, table: str = TABLE) -> None:
        self.clock = FakeClock(START)
        self.ledger = FakeLedger()
        self.site = FakeSite()
        self.secrets: dict[str, str] = {}
        self.fleet: Fleet = parse(table + keys)
        self.poller = self.new_poller()

    def new_poller(self) -> Poller:
        """Return another poller over the same ledger."""
        return Poller(
            fleet=self.fleet,
            ledger=self.ledger,
            table=self.ledger.table,
            exchange=self.site,
            secret_of=self.secrets.__getitem__,
            clock=self.clock,
        )

    def change(self, keys: str, *, table: str = TABLE) -> None:
        """Deploy the fleet anew, with other keys."""
        self.fleet = parse(table + keys)
        self.poller = self.new_poller()

    def publish(self, *items: str, **headers: str) -> None:
        """Let the site hold these items, the newest first."""
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        self.site.pages[URL] = FakeAnswer(200, named, rss(*items))

    def poll(self, later: timedelta = timedelta(minutes=30)) -> dict[str, Any]:
        """Let some time pass, and look."""
        self.clock.instant += later
        return self.poller.poll("news")

    @property
    def accepted(self) -> list[str]:
        """The ids of all events, in the order in which they were accepted."""
        found = [pk for pk, sk in self.ledger.table.rows if sk == "event"]
        return [pk.removeprefix("news:") for pk in found]


def rss(*items: str, head: str = "") -> bytes:
    """Return a feed of RSS 2.0."""
    return f"<rss><channel>{head}{''.join(items)}</channel></rss>".encode()


def item(id: str, **elements: str) -> str:
    """Return an item; its title is its id, unless another is given."""
    named = {"guid": id, "title": f"About {id}", **elements}
    inner = "".join(f"<{n}>{escape(text)}</{n}>" for n, text in named.items())
    return f"<item>{inner}</item>"


def numbered(count: int, first: int = 1) -> list[str]:
    """Return the items ``i1`` to ``i<count>``, the newest first."""
    return [item(f"i{n}") for n in reversed(range(first, first + count))]


def document(*items: Any) -> bytes:
    """Return a JSON Feed of these items."""
    text = json.dumps({"version": "https://jsonfeed.org/version/1.1", "items": items})
    return text.encode()
