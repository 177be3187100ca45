"""What the rest must know of a sender, read from its module when asked for.

Kept apart from the receiver, so that the fleet can be checked without knowing
how anything is verified. A module is imported only for a sender that is asked
for; none is by importing this.
"""

from __future__ import annotations

import ast
import importlib
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from lambdas.shared.errors import Misconfigured
from lambdas.shared.fleet.model import Source

_PACKAGE = "lambdas.receiver.senders"
_FOLDER = Path(__file__).resolve().parent.parent / "receiver" / "senders"

HEADINGS = (
    "Set up",
    "Signed",
    "Retries",
    "Success",
    "Delivery id",
    "Not protected",
)
_NAME = re.compile(r"[a-z][a-z0-9-]{0,39}")
_HEADING = re.compile(rf"({'|'.join(HEADINGS)}): ")


@dataclass(frozen=True, slots=True, kw_only=True)
class SenderTraits:
    """One sender, as configuration and documentation see it.

    ``gives_up_after_seconds`` is the sender's time-out; it ``retries`` or the
    event is lost. ``needs_public_url``: it signs the URL it calls. ``signs_id``:
    the delivery id is signed. ``needs`` is the dependency set (``core`` or
    ``senders``). ``options`` are the further keys of its source, with what they
    mean, ``required`` those that it must have, ``forms`` what others are that are
    no text. For the generic sender the source's own keys decide about the id.
    """

    name: str
    has_delivery_id: bool
    signs_id: bool
    needs_public_url: bool
    secret: bool
    gives_up_after_seconds: float
    retries: bool
    needs: str
    options: Mapping[str, str]
    required: Mapping[str, Literal["text", "texts"]]
    forms: Mapping[str, Literal["boolean", "header"]]


def names() -> tuple[str, ...]:
    """Return every sender that has a module; none is imported."""
    found = (path.stem.replace("_", "-") for path in _FOLDER.glob("[a-z]*.py*"))
    return tuple(sorted(set(found)))


def traits(name: str, source: Source | None = None) -> SenderTraits:
    """Return what is known of the sender ``name``, or of it as ``source`` has it.

    Raises:
        Misconfigured: there is no such sender; the message lists those there are.
    """
    known = f"there are {', '.join(names())}"
    if not _NAME.fullmatch(name):
        # "github.com" would name a module inside another.
        raise Misconfigured(f"no sender {name[:60]!r}; {known}")
    path = f"{_PACKAGE}.{name.replace('-', '_')}"
    try:
        module = importlib.import_module(path)
    except ModuleNotFoundError as error:
        if error.name != path:
            raise
        raise Misconfigured(f"no sender {name!r}; {known}") from error
    record = module.SENDER
    if source is not None and hasattr(module, "sender"):
        record = module.sender(source)
    return SenderTraits(
        name=name,
        has_delivery_id=record.delivery_id is not None,
        signs_id=record.signs_id,
        needs_public_url=record.signs_url,
        secret=record.secret,
        gives_up_after_seconds=record.gives_up_after_seconds,
        retries=record.retries,
        needs=record.needs,
        options=record.options,
        required=record.required,
        forms=record.forms,
    )


def page(name: str) -> tuple[str, dict[str, str]]:
    """Return :func:`guide` of the sender ``name``; its module is not imported."""
    path = _FOLDER / f"{name.replace('-', '_')}.py"
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise Misconfigured(f"no sender {name!r}") from None
    return guide(ast.get_docstring(ast.parse(text), clean=False) or "")


def guide(docstring: str) -> tuple[str, dict[str, str]]:
    """Return a sender module's first line and its texts by heading."""
    title, _, rest = docstring.partition("\n")
    sections: dict[str, str] = {}
    heading = ""
    for line in rest.splitlines():
        begins = _HEADING.match(line)
        if begins:
            heading = begins.group(1)
            sections[heading] = line[begins.end() :].strip()
        elif heading and line.strip():
            sections[heading] += f" {line.strip()}"
    return title.strip(), sections
