"""The senders: one small declarative module each, found by its name.

A module is ``<name with _ for ->.py`` in this folder, holding ``SENDER`` (and,
where the source's own keys decide the scheme, a function ``sender(source)``
that makes another). Adding one touches no other file. Its docstring is its page
in the reference, and has a fixed form: a first line ``Name: what it is.``, then
these headings, each once and in this order, a longer text going on in lines
indented by two blanks::

    Set up: where to click at the sender.
    Signed: what is signed, and how.
    Retries: how often, how long; within what time an answer is wanted.
    Success: what counts as success.
    Delivery id: where it is.
    Not protected: what a forger or a listener could still do.

The order of things: ``greet`` (before verification, only for handshakes that
the sender does not sign), ``proof.verify``, the method, the body, ``reply``
(handshakes that are signed), then the events.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from types import MappingProxyType
from typing import Any, Literal

from lambdas.receiver.places import (
    Body,
    Header,
    Message,
    Place,
    Query,
    find,
    first,
)
from lambdas.receiver.reading import read
from lambdas.receiver.request import Answer, Request, json_answer
from lambdas.receiver.schemes import (
    BODY,
    METHOD,
    TIME,
    URL,
    AnyOf,
    Basic,
    FirstSpoken,
    Hmac,
    Proof,
    Time,
    Token,
    as_base64,
    as_hex,
    as_text,
    as_whsec,
    header,
)
from lambdas.shared.errors import Misconfigured
from lambdas.shared.event import Event
from lambdas.shared.fleet import Source
from lambdas.shared.values import walk

__all__ = [
    "BODY",
    "METHOD",
    "TIME",
    "URL",
    "Answer",
    "AnyOf",
    "Basic",
    "Body",
    "FirstSpoken",
    "Header",
    "Hmac",
    "Message",
    "Proof",
    "Query",
    "Request",
    "Sender",
    "Time",
    "Token",
    "as_base64",
    "as_hex",
    "as_text",
    "as_whsec",
    "find",
    "first",
    "header",
    "json_answer",
    "load",
    "walk",
]

_NOTHING: Mapping[str, Any] = MappingProxyType({})


@dataclass(frozen=True, kw_only=True)
class Sender:
    """How one kind of service speaks.

    ``proof`` verifies. ``kind`` must be there, or the request is malformed;
    so must ``delivery_id``, or it has no delivery id (None: the sender offers
    none, the source must choose an ``identity``). ``occurred_at``, ``tenant``,
    ``actor``, ``thread`` and ``facts`` (name to place) only decorate: what is
    not found is left out. ``headers`` are kept on the event, in lower case.

    ``body`` is ``json`` (an object, a list or a form, else malformed) or
    ``any`` (may be empty or no JSON: ``data`` is then None). ``split`` returns
    the events' own parts of the decoded body. ``success`` is the answer to an
    accepted request where it is not the usual one.

    ``gives_up_after_seconds`` is the sender's time-out. ``secret`` is False where
    a key is fetched instead. ``needs`` names the dependency set
    that the proof wants. ``signs_url`` and ``signs_id`` say whether the URL
    and the delivery id are covered. ``options`` are the keys that
    ``[sources.NAME]`` may hold for this sender alone, with what they mean;
    ``required`` are those it must hold, with their form; ``forms`` that of the
    others, where it is no text.
    """

    proof: Proof
    kind: Place
    delivery_id: Place | None
    occurred_at: Place | None = None
    tenant: Place | None = None
    actor: Place | None = None
    thread: Place | None = None
    facts: Mapping[str, Place] = field(default_factory=lambda: _NOTHING)
    headers: tuple[str, ...] = ()
    methods: tuple[str, ...] = ("POST",)
    body: Literal["json", "any"] = "json"
    greet: Callable[[Request, Sequence[str]], Answer | None] | None = None
    reply: Callable[[Request], Answer | None] | None = None
    split: Callable[[Any], Iterable[Any]] | None = None
    success: Callable[[Request], Answer | None] | None = None
    gives_up_after_seconds: float = 10
    retries: bool = True
    secret: bool = True
    signs_url: bool = False
    signs_id: bool = True
    needs: Literal["core", "senders"] = "core"
    options: Mapping[str, str] = field(default_factory=lambda: _NOTHING)
    required: Mapping[str, Literal["text", "texts"]] = field(
        default_factory=lambda: _NOTHING
    )
    forms: Mapping[str, Literal["boolean", "header"]] = field(
        default_factory=lambda: _NOTHING
    )

    def verify(self, request: Request, secrets: Sequence[str], now: datetime) -> int:
        """Return which of ``secrets`` proves the request; see :class:`Proof`."""
        return self.proof.verify(request, secrets, now)

    def read(self, request: Request) -> list[Event] | Answer:
        """Return a verified request's events, or a handshake's answer.

        Raises:
            Rejected: the request holds no event that can be read.
        """
        return read(self, request)


def load(source: Source) -> Sender:
    """Return the sender behind ``source``; its module is imported only then.

    Raises:
        Misconfigured: there is no such module.
    """
    name = f"{__name__}.{source.sender.replace('-', '_')}"
    try:
        module = importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name != name:
            raise
        raise Misconfigured(f"there is no sender {source.sender!r}") from error
    made = getattr(module, "sender", None)
    record = made(source) if made else module.SENDER
    if not isinstance(record, Sender):
        raise Misconfigured(f"{name} holds no Sender")
    return record
