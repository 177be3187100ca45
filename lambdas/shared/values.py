"""Values of a stranger's JSON: found by a path, and made fit for the ledger.

For senders' requests and for items of a feed alike.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Any, Literal

from lambdas.shared.event import Fact

# Ids are keys; actor, thread and tenant travel on the bus. Nobody's is longer.
LONGEST_TEXT = 256

# More than any float holds is infinite to a parser of JSON, or refused by it.
_LONGEST_NUMBER_BITS = 1023

# What may travel on the bus beside the ids: values to match on, never the payload.
MOST_FACT_BYTES = 4096

_DIGITS = re.compile(r"[0-9]{1,16}")
_RFC3339 = re.compile(
    r"\d{4}-\d\d-\d\d[Tt ]\d\d:\d\d:\d\d(\.\d{1,9})?([Zz]|[+-]\d\d:?\d\d)", re.ASCII
)

_DATE = re.compile(
    r"[A-Z][a-z]{2},? \d\d [A-Z][a-z]{2} \d{4} \d\d:\d\d:\d\d [A-Z]{3}", re.ASCII
)

Unit = Literal["s", "ms", "rfc3339"]


def walk(data: Any, path: str) -> Any:
    """Follow ``path`` into JSON values: names and list indexes, joined by dots."""
    for step in path.removeprefix("$.").replace("[", ".").replace("]", "").split("."):
        if isinstance(data, dict):
            data = data.get(step)
        elif isinstance(data, list) and _DIGITS.fullmatch(step):
            data = data[int(step)] if int(step) < len(data) else None
        else:
            return None
    return data


def text(value: Any) -> str | None:
    """Return a word of the sender as text that every store takes, or None.

    Numbers become text. What is longer than 256 characters is cut; a lone
    surrogate, which UTF-8 cannot spell, is written out.
    """
    if isinstance(value, bool) or not isinstance(value, str | int):
        return None
    clean = str(value).encode("utf-8", "backslashreplace").decode()
    return clean[:LONGEST_TEXT] or None


def fact(value: Any) -> Fact:
    """Return ``value`` if a rule can match on it, or None."""
    if isinstance(value, str):
        return value.encode("utf-8", "backslashreplace").decode()
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if isinstance(value, int) and value.bit_length() > _LONGEST_NUMBER_BITS:
        return None
    return value if isinstance(value, bool | int | float) else None


def facts(wanted: Iterable[tuple[str, Any]]) -> tuple[dict[str, Fact], list[str]]:
    """Return what rules can match on, 4 KB at most, and the names of what is dropped.

    Of two under one name the first counts.
    """
    kept: dict[str, Fact] = {}
    dropped: list[str] = []
    size = len("{}")
    for name, found in wanted:
        value = fact(found)
        if value is None or name in kept:
            continue
        size_with = size + len(json.dumps({name: value}, ensure_ascii=False).encode())
        if size_with > MOST_FACT_BYTES:
            dropped.append(name)
            continue
        kept[name], size = value, size_with
    return kept, dropped


def clean(value: str) -> str:
    """Return ``value`` with what UTF-8 cannot spell written out."""
    return value.encode("utf-8", "backslashreplace").decode()


def instant(value: Any, unit: Unit | None = None) -> datetime | None:
    """Read a time: epoch seconds, milliseconds, or RFC 3339; junk is None.

    Without ``unit`` a number is taken for milliseconds where seconds would
    lie after the year 5000, and the date of an HTTP header will do.
    """
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return None
    word = str(value)
    try:
        if isinstance(value, float):
            number = value
        elif _DIGITS.fullmatch(word) and unit != "rfc3339":
            number = int(word)
        elif _RFC3339.fullmatch(word) and unit not in ("s", "ms"):
            return datetime.fromisoformat(word.upper()).astimezone(UTC)
        else:
            return _http_date(word) if unit is None else None
        if unit == "ms" or (unit is None and number > 100_000_000_000):
            number /= 1000
        return datetime.fromtimestamp(number, UTC)
    except (ValueError, OverflowError, OSError):
        return None


def _http_date(word: str) -> datetime | None:
    if not _DATE.fullmatch(word):
        return None
    # Imported here: hardly anybody writes times so.
    from email.utils import parsedate_to_datetime

    found = parsedate_to_datetime(word)
    return found.replace(tzinfo=found.tzinfo or UTC).astimezone(UTC)
