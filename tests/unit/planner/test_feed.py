"""Getting a feed: where it may lie, how often it may lead elsewhere."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import pytest

from lambdas.planner import feed
from lambdas.planner.occurrence import Refused
from lambdas.shared.errors import Misconfigured, Unavailable


@dataclass
class Said:
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes = b"BEGIN:VCALENDAR"


def site(*answers: Said) -> tuple[Any, list[str]]:
    asked: list[str] = []
    left = list(answers)

    def exchange(url: str, **_: Any) -> Said:
        asked.append(url)
        return left.pop(0) if len(left) > 1 else left[0]

    return exchange, asked


@pytest.mark.parametrize("scheme", ["webcal", "webcals", "https"])
def test_feed_is_asked_for_by_https(scheme: str) -> None:
    exchange, asked = site(Said())

    feed.get(exchange, f" {scheme}://feeds.example/a.ics?key=1\n")

    assert asked == ["https://feeds.example/a.ics?key=1"]


@pytest.mark.parametrize(
    "address",
    [
        *("http://feeds.example/", "file:///etc/passwd", "feeds.example/a.ics", ""),
        *("https://user@feeds.example/", "https://feeds.example:8443/", "https:///a"),
        *("https://feeds.example:x/", "https://[/"),
    ],
)
def test_any_other_address_is_called_by_nobody(address: str) -> None:
    exchange, asked = site(Said())

    with pytest.raises(Misconfigured):
        feed.get(exchange, address)

    assert asked == []


def test_address_is_a_secret_and_is_not_told() -> None:
    with pytest.raises(Misconfigured) as refused:
        feed.checked("http://feeds.example/private-4711/a.ics")

    assert "4711" not in str(refused.value)


def test_redirect_is_followed() -> None:
    exchange, asked = site(Said(302, {"location": "/b.ics"}), Said())

    assert feed.get(exchange, "https://feeds.example/a.ics").body is not None
    assert asked[-1] == "https://feeds.example/b.ics"


@pytest.mark.parametrize(
    "location", ["http://feeds.example/", "file:///etc/passwd", "https://a:81/"]
)
def test_redirect_to_another_kind_of_place_is_refused(location: str) -> None:
    exchange, asked = site(Said(302, {"location": location}), Said())

    with pytest.raises(Refused, match="redirected"):
        feed.get(exchange, "https://feeds.example/a.ics")

    assert len(asked) == 1


def test_redirects_without_end_are_refused() -> None:
    exchange, asked = site(Said(302, {"location": "/again"}))

    with pytest.raises(Refused, match="more than 3 redirects"):
        feed.get(exchange, "https://feeds.example/a.ics")

    assert len(asked) == 4


@pytest.mark.parametrize(
    ("status", "error"),
    [(401, Refused), (404, Refused), (429, Unavailable), (503, Unavailable)],
)
def test_refusal_and_failure_are_told_apart(
    status: int, error: type[Exception]
) -> None:
    exchange, _ = site(Said(status))

    with pytest.raises(error, match=f"feeds.example answered {status}"):
        feed.get(exchange, "https://feeds.example/a.ics")


def test_answer_shorter_than_promised_is_refused() -> None:
    exchange, _ = site(Said(headers={"content-length": "5000"}))

    with pytest.raises(Refused, match="promised 5000 bytes and sent 15"):
        feed.get(exchange, "https://feeds.example/a.ics")
