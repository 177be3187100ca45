"""From the bytes at a feed's address to its items, as the source's table says."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime

from lambdas.poller import documents, syndication
from lambdas.poller.item import Item, Reading, date
from lambdas.shared.event import Content, Event, event_id
from lambdas.shared.fleet import Feed, Pick
from lambdas.shared.values import clean, facts, text, walk

_DEFAULT_FACTS = ("title", "link", "author")


def read(feed: Feed, body: bytes, content_type: str = "") -> Reading:
    """Return the items, newest first as feeds have them; each id once.

    An item without an id where ``id_from`` says is left out, with a note.

    Raises:
        Refused: what lies there is no feed, or not to be obeyed.
    """
    if feed.format == "json":
        found = documents.read(body, feed, content_type)
    else:
        found = syndication.read(body, content_type)
    items: dict[str, Item] = {}
    nameless = twice = 0
    for each in found.items:
        item = _picked(feed, each)
        if item is None:
            nameless += 1
        elif item.id in items:
            twice += 1
        else:
            items[item.id] = item
    notes = list(found.notes)
    if nameless:
        notes.append(f"{nameless} items have no id where id_from says")
    if twice:
        notes.append(f"{twice} items have the id of one before them")
    return replace(found, items=tuple(items.values()), notes=tuple(notes))


def _picked(feed: Feed, item: Item) -> Item | None:
    if feed.id_from is not None:
        found = walk(item.data, feed.id_from.name)
        if isinstance(found, bool) or not isinstance(found, str | int) or found == "":
            return None
        item = replace(item, id=str(found))
    if feed.time_from is not None:
        item = replace(item, at=date(walk(item.data, feed.time_from.name)))
    return item


def event_of(feed: Feed, item: Item, received_at: datetime, *, edited: bool) -> Event:
    """Return the event that ``item`` is: ``<source>:<its id>``, edited or not."""
    own, kind = clean(item.id), _word(feed.kind_from, item) or "item"
    if edited:
        # Each version is an event of its own.
        own, kind = f"{own}#{item.print.hex()}", f"{kind}.edited"
    usual = [(name, walk(item.data, name) or None) for name in _DEFAULT_FACTS]
    wanted = [*usual, *((name, walk(item.data, name)) for name in feed.facts)]
    return Event(
        id=event_id(feed.name, own),
        source=feed.name,
        kind=kind,
        occurred_at=item.at or received_at,
        received_at=received_at,
        content=Content(item.body, "application/json"),
        tenant=_word(feed.tenant_from, item),
        facts=facts(wanted)[0],
    )


def _word(pick: Pick | None, item: Item) -> str | None:
    if pick is None:
        return None
    return pick.name if pick.where == "text" else text(walk(item.data, pick.name))
