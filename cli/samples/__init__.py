"""Samples: one small realistic body per sender and event, kept as files.

``<sender>/<event>.json`` is sent as it lies. ``<event>.txt`` is a form, one
``name=value`` a line, encoded when read. In both, ``{{...}}`` is filled in:

    {{id}}            a UUID, fresh for each delivery
    {{token}}         24 letters and digits, fresh for each delivery
    "{{number}}"      ten digits, fresh for each delivery
    "{{seconds}}"     the time, epoch seconds    "{{milliseconds}}" the same in ms
    {{stamp}}         the time, epoch seconds as text
    {{time}}          the time, RFC 3339         {{date}} its date

``{{id.2}}``, ``{{token.3}}`` are further ones of the same delivery. In JSON a
number's quotes go with the braces, so that a sample stays a JSON file itself.
"""

from __future__ import annotations

import hashlib
import re
import uuid
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from urllib.parse import quote_plus

_FOLDER = Path(__file__).parent
_PLACE = re.compile(
    r'(?P<quote>"?)\{\{(?P<name>[a-z]+)(?:\.(?P<nth>\d+))?\}\}(?P=quote)'
)
_NUMBERS = {"number", "seconds", "milliseconds"}
_LETTERS = "ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz23456789"


class UnknownEventError(Exception):
    """Raised when a sender has no such sample; the message lists those there."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """A body, filled in and encoded, with its ``Content-Type``."""

    body: bytes
    media_type: str


def events(sender: str) -> list[str]:
    """Return the names of a sender's samples, in order."""
    found = (_FOLDER / sender).glob("*.*")
    return sorted(f.stem for f in found if f.suffix in {".json", ".txt"})


def load(sender: str, event: str, *, delivery_id: str, at: datetime) -> Sample:
    """Return the sample with everything filled in.

    Raises:
        UnknownEventError: the sender has no sample of that name.
    """
    if event not in events(sender):
        raise UnknownEventError(
            f"{sender} has no sample {event!r}; there are: {', '.join(events(sender))}"
        )
    form = _FOLDER / sender / f"{event}.txt"
    if not form.exists():
        text = (_FOLDER / sender / f"{event}.json").read_text(encoding="utf-8")
        return Sample(
            body=_fill(text.rstrip("\n"), delivery_id, at).encode(),
            media_type="application/json",
        )
    lines = _fill(form.read_text(encoding="utf-8"), delivery_id, at).splitlines()
    fields = (line.partition("=") for line in lines if line)
    return Sample(
        body="&".join(f"{k}={quote_plus(v)}" for k, _, v in fields).encode(),
        media_type="application/x-www-form-urlencoded",
    )


def _fill(text: str, delivery_id: str, at: datetime) -> str:
    def value(match: re.Match[str]) -> str:
        name, nth, quote = match["name"], match["nth"] or "", match["quote"]
        filled = _value(name, f"{delivery_id}{nth and '.'}{nth}", at)
        return filled if name in _NUMBERS else f"{quote}{filled}{quote}"

    return _PLACE.sub(value, text)


def _value(name: str, seed: str, at: datetime) -> str:
    digest = hashlib.sha256(seed.encode()).digest()
    match name:
        case "id":
            return str(uuid.uuid5(uuid.NAMESPACE_URL, seed))
        case "token":
            return "".join(_LETTERS[b % len(_LETTERS)] for b in digest[:24])
        case "number":
            return str(10**9 + int.from_bytes(digest[:4], "big"))
        case "seconds" | "stamp":
            return str(int(at.timestamp()))
        case "milliseconds":
            return str(round(at.timestamp() * 1000))
        case "time":
            text = at.isoformat(timespec="milliseconds")
            return text.replace("+00:00", "Z")
        case "date":
            return at.date().isoformat()
    raise ValueError(f"no such placeholder: {name}")
