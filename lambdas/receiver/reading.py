"""Turns a verified request into events, by what its sender's record says."""

from __future__ import annotations

import hashlib
import itertools
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from lambdas.receiver.places import Header, Place, find
from lambdas.receiver.request import FORM, JSON, Answer, Request
from lambdas.shared.errors import BellhopError, Code, Misconfigured, Rejected
from lambdas.shared.event import Content, Event, Fact, event_id
from lambdas.shared.observe import count, logger
from lambdas.shared.values import clean, facts, instant, text, walk

if TYPE_CHECKING:
    from lambdas.receiver.senders import Sender


# Nobody's request holds more: SendGrid's end at 768 KB, Meta's at 1,000 events.
MOST_EVENTS = 10_000
# Each of several events is kept with the words that stand around all of them: a
# request of megabytes must not become gigabytes.
MOST_EVENT_BYTES = 32 * 1024 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """One event's part of a request; the whole of it where there is only one."""

    request: Request
    data: Any
    index: int = 0
    alone: bool = True

    @property
    def headers(self) -> Mapping[str, str]:
        """The request's headers."""
        return self.request.headers

    @property
    def arguments(self) -> Mapping[str, str]:
        """The arguments of the request's query."""
        return self.request.arguments

    @property
    def content(self) -> Content:
        """The raw body; of several events each one's own values, as JSON.

        A GET has none: there it is the query.
        """
        if self.request.is_query:
            return Content(self.request.query.encode(), FORM)
        if self.alone:
            return Content(self.request.body, self.request.media_type)
        body = json.dumps(self.data, separators=(",", ":"), ensure_ascii=False)
        return Content(body.encode("utf-8", "surrogatepass"), JSON)


def read(sender: Sender, request: Request) -> list[Event] | Answer:
    """Return the request's events, or the answer of a handshake.

    Of several events in one request, those that cannot be read are counted
    and logged as refused, and harm no neighbour.

    Raises:
        Rejected: the request holds no event that can be read.
    """
    try:
        return _read(sender, request)
    except RecursionError as error:
        # Deep enough to be decoded, too deep to be written again.
        raise Rejected(Code.MALFORMED, "the body is nested too deeply") from error


def _read(sender: Sender, request: Request) -> list[Event] | Answer:
    data = _decoded(sender, request)
    if sender.reply is not None:
        answer = sender.reply(request)
        if answer is not None:
            return answer
    if sender.split is None:
        return [_event(sender, Part(request=request, data=data))]
    events: list[Event] = []
    refusals = _Refusals()
    size = 0
    for index, item in enumerate(itertools.islice(sender.split(data), MOST_EVENTS + 1)):
        if index == MOST_EVENTS:
            raise Rejected(Code.BODY_TOO_LARGE, f"more than {MOST_EVENTS} events")
        part = Part(request=request, data=item, index=index, alone=False)
        try:
            event = _event(sender, part)
        except Rejected as refused:
            refusals.add(refused)
            continue
        events.append(event)
        size += len(event.body)
        if size > MOST_EVENT_BYTES:
            raise Rejected(
                Code.BODY_TOO_LARGE,
                f"its events make more than {MOST_EVENT_BYTES} bytes",
            )
    if refusals.first and not events:
        raise refusals.first
    refusals.tell(request.source.name)
    return events


@dataclass(slots=True)
class _Refusals:
    """What was refused of a request's events: told once per code, however many."""

    first: Rejected | None = None
    _by_code: dict[Code, tuple[int, str]] = field(default_factory=dict)

    def add(self, refused: Rejected) -> None:
        self.first = self.first or refused
        number, why = self._by_code.get(refused.code, (0, str(refused)))
        self._by_code[refused.code] = (number + 1, why)

    def tell(self, source: str) -> None:
        for code, (number, why) in self._by_code.items():
            count("EventsRefused", number, Source=source, Reason=code.value)
            logger.error(
                "events of a batch refused",
                source=source,
                code=code,
                events=number,
                why=why,
            )


def _decoded(sender: Sender, request: Request) -> Any:
    if sender.body == "any":
        try:
            return request.data
        except Rejected:
            return None
    data = request.data
    if not isinstance(data, dict | list):
        raise Rejected(Code.MALFORMED, "the body is neither an object nor a list")
    return data


def _event(sender: Sender, part: Part) -> Event:
    source, received_at = part.request.source, part.request.received_at
    kind = text(find(sender.kind, part))
    if kind is None:
        raise Rejected(Code.MALFORMED, "the kind is missing")
    kept = {n: part.headers[n] for n in sender.headers if part.headers.get(n)}
    return Event(
        id=event_id(source.name, _delivery_id(sender, part)),
        source=source.name,
        kind=kind,
        occurred_at=instant(_try(sender.occurred_at, part)) or received_at,
        received_at=received_at,
        content=part.content,
        tenant=text(_try(sender.tenant, part)),
        actor=text(_try(sender.actor, part)),
        thread=text(_try(sender.thread, part)),
        facts=_facts(sender, part),
        headers={n: clean(value) for n, value in kept.items()},
    )


def _delivery_id(sender: Sender, part: Part) -> str:
    identity = part.request.source.identity
    if identity == "body":
        body = part.content.body
        return f"body-{hashlib.sha256(body).hexdigest()}"
    if identity == "request":
        # API Gateway's id of the request: the sender's repeat is another event.
        suffix = "" if part.alone else f"-{part.index}"
        return f"request-{part.request.request_id}{suffix}"
    if sender.delivery_id is None:
        raise Misconfigured(
            f"source {part.request.source.name}: its sender offers no delivery id;"
            ' say identity = "body" or "request"'
        )
    found = find(sender.delivery_id, part)
    if isinstance(found, bool) or not isinstance(found, str | int) or found == "":
        raise Rejected(Code.NO_DELIVERY_ID, "the delivery id is missing")
    # Not cut as other texts are: event_id hashes what is too long to be a key.
    return clean(str(found))


def _facts(sender: Sender, part: Part) -> dict[str, Fact]:
    wanted = [(n, _try(place, part)) for n, place in sender.facts.items()]
    wanted += [_own_fact(part, place) for place in part.request.source.facts]
    kept, dropped = facts(wanted)
    if dropped:
        logger.warning(
            "facts dropped, more than 4 KB",
            source=part.request.source.name,
            dropped=dropped,
        )
    return kept


def _own_fact(part: Part, place: str) -> tuple[str, Any]:
    """Return a fact of the source's own list: ``header:NAME`` or a JSON path."""
    if place.startswith("header:"):
        name = place.removeprefix("header:").lower()
        return name, _try(Header(name), part)
    return place, walk(part.data, place)


def _try(place: Place | None, part: Part) -> Any:
    """Return what is there; what only decorates an event never refuses it."""
    try:
        return find(place, part)
    except (
        BellhopError,
        ArithmeticError,
        AttributeError,
        LookupError,
        TypeError,
        ValueError,
    ):
        return None
