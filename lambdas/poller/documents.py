"""Feeds of JSON: JSON Feed as it is, anything else by the source's picks."""

from __future__ import annotations

import json
import math
from typing import Any

from lambdas.poller.item import (
    MOST_ITEMS,
    Item,
    Reading,
    Refused,
    date,
    first_text,
    hashed,
)
from lambdas.poller.text import decoded
from lambdas.shared.fleet import Feed
from lambdas.shared.values import walk

_TIMES = ("date_published", "published_at", "created_at", "date_modified", "updated_at")


def read(body: bytes, feed: Feed, content_type: str = "") -> Reading:
    """Return the items of a document, in its order.

    Raises:
        Refused: it is no JSON, has no list where ``items`` says, or more than
            anybody's.
    """
    text = decoded(body, content_type).strip()
    if not text:
        raise Refused("it is empty")
    if text.startswith("<"):
        raise Refused("it is a page or XML, not JSON")
    try:
        document = json.loads(text, parse_constant=_no_number, parse_float=_finite)
    except (ValueError, RecursionError) as error:
        raise Refused(f"broken JSON: {str(error)[:200]}") from error
    found = _list(document, feed)
    if len(found) > MOST_ITEMS:
        raise Refused(f"more than {MOST_ITEMS} items")
    try:
        return Reading(items=tuple(map(_item, found)))
    except RecursionError as error:
        # Deep enough to be read, too deep to be written again.
        raise Refused("an item is nested too deeply") from error


def _no_number(_: str) -> None:
    """NaN and Infinity, which some sites write, are nothing that JSON can tell."""


def _finite(text: str) -> float | None:
    number = float(text)
    return number if math.isfinite(number) else None


def _list(document: Any, feed: Feed) -> list[Any]:
    found = document
    if feed.items is not None:
        found = walk(document, feed.items)
    elif isinstance(document, dict):
        found = document.get("items")
    if not isinstance(found, list):
        raise Refused(f"no list of items at {feed.items or 'items'!r}")
    return found


def _item(data: Any) -> Item:
    named = data if isinstance(data, dict) else {}
    times = (date(named.get(name)) for name in _TIMES)
    return Item(
        id=first_text(named, "id", "url") or hashed(data),
        data=data,
        at=next((at for at in times if at is not None), None),
    )
