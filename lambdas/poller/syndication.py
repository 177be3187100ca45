"""RSS 0.9 to 2.0, RDF and Atom: one shape of item for all.

Read as a stream by expat, through defusedxml: a document that declares entities is
refused before any is expanded, and nothing outside it is ever fetched. The names of
HTML's characters (``&nbsp;``), which many feeds hold undeclared, are known.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import timedelta
from html.entities import html5
from typing import Any
from xml.etree.ElementTree import ParseError

from defusedxml.common import DefusedXmlException
from defusedxml.ElementTree import DefusedXMLParser

from lambdas.poller.item import MOST_ITEMS, Item, Reading, Refused, date, hashed
from lambdas.poller.text import decoded

_ROOTS = ("rss", "RDF", "feed")
_ITEMS = ("item", "entry")
# Nobody's is deeper; markup inside an entry is.
_MOST_DEPTH = 200
_MOST_VALUES = 100  # of one kind in an item: categories, links

_ATOM = "http://www.w3.org/2005/Atom"
_DC = "http://purl.org/dc/elements/1.1/"
_CONTENT = "http://purl.org/rss/1.0/modules/content/"
_SYNDICATION = "http://purl.org/rss/1.0/modules/syndication/"
_RDF = "http://www.w3.org/1999/02/22-rdf-syntax-ns#"
# Whose elements have no prefix; a `media:title` is not the title.
_PLAIN = (
    *("", _ATOM, "http://purl.org/atom/ns#", "http://purl.org/rss/1.0/"),
    *("http://my.netscape.com/rdf/simple/0.9/", "http://backend.userland.com/rss2"),
)

# What no XML may hold and many feeds do.
_CONTROLS = {n: None for n in (*range(32), 0xFFFE, 0xFFFF) if chr(n) not in "\t\n\r"}
_BAD_REFERENCE = re.compile(
    r"&#(?:0*(?:[0-8]|1[124-9]|2[0-9]|3[01])|x0*(?:[0-8bcef]|1[0-9a-f]));", re.I
)
_PAGE = re.compile(r"\s*(<!doctype\s+html|<html[\s>])", re.I)

_PERIODS = {"hourly": 1, "daily": 24, "weekly": 168, "monthly": 720, "yearly": 8760}


def read(body: bytes, content_type: str = "") -> Reading:
    """Return the items of a feed, in its order.

    Raises:
        Refused: it is none, it is broken, or it is more than anybody's.
    """
    text = decoded(body, content_type).translate(_CONTROLS).lstrip()
    if not text:
        raise Refused("it is empty")
    if _PAGE.match(text):
        raise Refused("it is a page, not a feed: is this the feed's own address?")
    found = _Found()
    # Told to the parser, what the document says of its encoding no longer counts.
    parser = DefusedXMLParser(target=found, encoding="utf-8")
    parser.parser.UseForeignDTD(True)
    parser.parser.AttlistDeclHandler = _refuse_attributes
    parser.entity.update(_characters())
    try:
        parser.feed(_BAD_REFERENCE.sub("", text).encode("utf-8", "replace"))
        parser.close()
    except DefusedXmlException as error:
        raise Refused("it declares entities, which no feed needs") from error
    except ParseError as error:
        raise Refused(f"broken XML: {error}") from error
    return Reading(items=tuple(map(_item, found.items)), wait=found.wait)


def _refuse_attributes(*_: object) -> None:
    # Said once, every element has them: a few megabytes become a hundred gigabytes.
    raise Refused("it declares attributes, which no feed needs")


def _characters() -> dict[str, str]:
    return {name[:-1]: value for name, value in html5.items() if name.endswith(";")}


class _Found:
    """What the parser tells, put together; an item is a list of its elements."""

    def __init__(self) -> None:
        self.items: list[_Parts] = []
        self.wait = timedelta(0)
        self._path: list[tuple[str, str]] = []
        self._item: _Parts | None = None
        self._item_depth = 0
        self._text: list[str] = []
        self._attributes: Mapping[str, str] = {}
        self._period, self._frequency = 0, 1

    def start(self, tag: str, attributes: Mapping[str, str]) -> None:
        space, name = _split(tag)
        if not self._path and name not in _ROOTS:
            if name.lower() == "html":
                raise Refused("it is a page, not a feed")
            raise Refused(f"its root is <{name[:40]}>: no RSS and no Atom")
        self._path.append((space, name))
        depth = len(self._path)
        if depth > _MOST_DEPTH:
            raise Refused(f"elements are nested {_MOST_DEPTH} deep")
        if self._item is None and name in _ITEMS and space in _PLAIN:
            if len(self.items) >= MOST_ITEMS:
                raise Refused(f"more than {MOST_ITEMS} items")
            self._item, self._item_depth = _Parts(), depth
            self._item.add(_RDF, "about", attributes.get(f"{{{_RDF}}}about", ""), {})
        elif self._item is None or depth == self._item_depth + 1:
            self._text, self._attributes = [], attributes
        elif self._is_author(depth):
            self._text = []

    def data(self, text: str) -> None:
        self._text.append(text)

    def end(self, tag: str) -> None:
        space, name = _split(tag)
        depth = len(self._path)
        if self._item is None:
            self._told(space, name, "".join(self._text).strip())
            self._text = []
        elif depth == self._item_depth:
            self.items.append(self._item)
            self._item = None
        elif depth == self._item_depth + 1:
            self._item.add(space, name, "".join(self._text), self._attributes)
            self._text = []
        elif self._is_author(depth) and name == "name":
            self._item.add(_DC, "creator", "".join(self._text), {})
        self._path.pop()

    def close(self) -> None:
        """Come to the end: what was told of the period is known by now."""
        if self._period:
            hours = self._period / max(self._frequency, 1)
            self.wait = max(self.wait, timedelta(hours=hours))

    def _is_author(self, depth: int) -> bool:
        return depth == self._item_depth + 2 and self._path[-2][1] == "author"

    def _told(self, space: str, name: str, text: str) -> None:
        """Hear how often the feed itself wants to be looked at."""
        number = int(text) if re.fullmatch(r"[0-9]{1,6}", text, re.ASCII) else 0
        if name == "ttl" and space in _PLAIN:
            self.wait = max(self.wait, timedelta(minutes=number))
        elif name == "updatePeriod" and space == _SYNDICATION:
            self._period = _PERIODS.get(text.lower(), 0)
        elif name == "updateFrequency" and space == _SYNDICATION:
            self._frequency = number


class _Parts:
    """The elements of one item, by their names without prefixes."""

    def __init__(self) -> None:
        self._found: dict[str, list[tuple[str, Mapping[str, str]]]] = {}

    def add(
        self, space: str, name: str, text: str, attributes: Mapping[str, str]
    ) -> None:
        prefix = {_DC: "dc:", _CONTENT: "content:", _RDF: "rdf:"}.get(space)
        if prefix is None and space not in _PLAIN:
            return
        held = self._found.setdefault(f"{prefix or ''}{name}", [])
        if len(held) < _MOST_VALUES:
            held.append((text.strip(), attributes))

    def text(self, *names: str) -> str:
        """Return the first text under these names that holds anything."""
        found = (text for name in names for text, _ in self._found.get(name, []))
        return next(filter(None, found), "")

    def all(self, name: str) -> list[tuple[str, Mapping[str, str]]]:
        return self._found.get(name, [])


def _item(parts: _Parts) -> Item:
    link = _link(parts)
    published = parts.text("pubDate", "published", "issued", "dc:date", "created")
    updated = parts.text("updated", "modified")
    data: dict[str, Any] = {
        "id": parts.text("guid", "id", "rdf:about") or link,
        "link": link,
        "title": parts.text("title", "dc:title"),
        "author": parts.text("dc:creator", "author"),
        "categories": _categories(parts),
        "published": published,
        "updated": updated,
        "summary": parts.text("description", "summary", "dc:description"),
        "content": parts.text("content:encoded", "content"),
        "enclosures": _enclosures(parts),
    }
    data["id"] = data["id"] or hashed(data)
    return Item(id=data["id"], data=data, at=date(published) or date(updated))


def _link(parts: _Parts) -> str:
    for text, told in parts.all("link"):
        if told.get("rel", "alternate") == "alternate" and (text or told.get("href")):
            return text or told["href"].strip()
    for text, told in parts.all("guid"):
        is_link = text.startswith(("https://", "http://"))
        if is_link and told.get("isPermaLink", "true") == "true":
            return text
    return ""


def _categories(parts: _Parts) -> list[str]:
    found = [text or told.get("term", "") for text, told in parts.all("category")]
    found += [text for text, _ in parts.all("dc:subject")]
    return [word for word in dict.fromkeys(found) if word]


def _enclosures(parts: _Parts) -> list[dict[str, str]]:
    found = [(told.get("url", ""), told) for _, told in parts.all("enclosure")]
    found += [
        (told.get("href", ""), told)
        for _, told in parts.all("link")
        if told.get("rel") == "enclosure"
    ]
    return [
        {"url": url, "type": told.get("type", ""), "length": told.get("length", "")}
        for url, told in found
        if url
    ]


def _split(tag: str) -> tuple[str, str]:
    """Return the namespace and the name of ``{namespace}name``."""
    space, _, name = tag.rpartition("}")
    return space.removeprefix("{"), name
