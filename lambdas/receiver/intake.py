"""Takes a request in: who is it, is it true, write it down once, answer."""

from __future__ import annotations

import time
import traceback
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from lambdas.receiver import senders
from lambdas.receiver.request import Answer, Request, from_api_gateway, json_answer
from lambdas.receiver.senders import Sender
from lambdas.shared.clock import Clock
from lambdas.shared.errors import Code, Misconfigured, Rejected, Unavailable
from lambdas.shared.event import Event
from lambdas.shared.fetch import Fetch, nothing
from lambdas.shared.fleet import Fleet, Source
from lambdas.shared.observe import Unit, count, logger, measure
from lambdas.shared.secrets import Secrets

_STATUS = {
    Code.UNKNOWN_SOURCE: 404,
    Code.NOT_ALLOWED_IP: 403,
    Code.METHOD_NOT_ALLOWED: 405,
    Code.MALFORMED: 400,
    Code.STALE: 401,
    Code.BAD_SIGNATURE: 401,
    Code.NO_DELIVERY_ID: 400,
    Code.BODY_TOO_LARGE: 413,
}

# A name that a stranger made up must not become a metric of its own.
_NOBODY = "unknown"


class Ledger(Protocol):
    """Writes down what is accepted."""

    def accept(self, event: Event, *, ignored: bool = False) -> bool:
        """Write the event down once; return whether it is new.

        Raises:
            Unavailable: it is not known to be written.
        """
        ...


@dataclass(frozen=True, kw_only=True)
class Intake:
    """The receiver without its wiring."""

    fleet: Fleet
    ledger: Ledger
    secrets: Secrets
    clock: Clock
    fetch: Fetch = nothing
    _senders: dict[str, Sender] = field(default_factory=dict, init=False, repr=False)

    def answer(self, event: Mapping[str, Any]) -> dict[str, Any]:
        """Answer one HTTP API request (payload 2.0); never raises.

        A 4xx says what the sender must change, a 5xx that it should repeat.
        """
        started = time.perf_counter()
        name = _source_name(event)
        known = name if name in self.fleet.sources else _NOBODY
        try:
            answer = self._take(event, name)
        except Rejected as refused:
            count("EventsRefused", Source=known, Reason=refused.code.value)
            logger.warning(
                "request refused", source=known, code=refused.code, why=str(refused)
            )
            answer = self._refusal(known, refused.code)
        except Misconfigured as fault:
            logger.error("source misconfigured", source=known, why=str(fault))
            answer = json_answer({"error": "internal"}, status=500)
        except Unavailable as fault:
            logger.warning("service unavailable", source=known, why=str(fault))
            answer = json_answer({"error": "unavailable"}, status=503)
        except Exception as fault:
            # Its text may hold a piece of the body: only where, not what.
            logger.error(
                "unexpected error",
                source=known,
                error=type(fault).__name__,
                frames=traceback.format_tb(fault.__traceback__)[-5:],
            )
            answer = json_answer({"error": "internal"}, status=500)
        spent = (time.perf_counter() - started) * 1000
        measure("ReceiverMilliseconds", spent, Unit.MILLISECONDS)
        return answer.to_api_gateway()

    def _take(self, event: Mapping[str, Any], name: str) -> Answer:
        source = self.fleet.sources.get(name)
        if source is None:
            raise Rejected(Code.UNKNOWN_SOURCE, f"no source {name[:64]!r}")
        _check_address(source, event["requestContext"]["http"].get("sourceIp", ""))
        request = from_api_gateway(event, source, self.clock(), self.fetch)
        sender = self._sender(source)
        greeting = self._prove(sender, request)
        if greeting is not None:
            logger.info("handshake answered", source=name)
            return greeting
        if request.method not in sender.methods:
            raise Rejected(Code.METHOD_NOT_ALLOWED, f"method {request.method[:16]!r}")
        size, most = len(request.body), source.max_body_bytes
        if size > most:
            raise Rejected(Code.BODY_TOO_LARGE, f"{size} bytes, the limit is {most}")
        found = sender.read(request)
        if isinstance(found, Answer):
            logger.info("handshake answered", source=name)
            return found
        accepted = [(each.id, self._accept(source, each)) for each in found]
        special = sender.success(request) if sender.success else None
        return special or _accepted(accepted)

    def _sender(self, source: Source) -> Sender:
        if source.name not in self._senders:
            self._senders[source.name] = senders.load(source)
        return self._senders[source.name]

    def _prove(self, sender: Sender, request: Request) -> Answer | None:
        """Verify, with a second look at the secret; or answer an unsigned greeting."""
        if not sender.secret:
            return self._verify(sender, request, {})
        name = request.source.secret_name
        secret = self.secrets.get(name)
        try:
            return self._verify(sender, request, secret.live(request.received_at))
        except Rejected as refused:
            if refused.code is not Code.BAD_SIGNATURE:
                raise
            other = self.secrets.look_again(name, secret)
            if other is None:
                raise
        return self._verify(sender, request, other.live(request.received_at))

    def _verify(
        self, sender: Sender, request: Request, live: Mapping[Any, str]
    ) -> Answer | None:
        values = tuple(live.values())
        if sender.greet is not None:
            greeting = sender.greet(request, values)
            if greeting is not None:
                return greeting
        try:
            index = sender.verify(request, values, request.received_at)
        except Misconfigured as fault:
            raise Misconfigured(f"{request.source.secret_name}: {fault}") from fault
        if values:
            which = tuple(live)[index]
            count("SecretMatched", Source=request.source.name, Which=which)
        return None

    def _accept(self, source: Source, event: Event) -> bool:
        ignored = event.actor is not None and event.actor in source.ignore_actors
        new = self.ledger.accept(event, ignored=ignored)
        count("EventsAccepted" if new else "EventsDuplicate", Source=source.name)
        logger.info(
            "event accepted",
            event_id=event.id,
            source=source.name,
            kind=event.kind,
            deduplicated=not new,
            ignored=ignored,
        )
        return new

    def _refusal(self, name: str, code: Code) -> Answer:
        headers = {}
        if code is Code.METHOD_NOT_ALLOWED:
            headers["allow"] = ", ".join(self._senders[name].methods)
        return json_answer({"error": code.value}, status=_STATUS[code], headers=headers)


def _source_name(event: Mapping[str, Any]) -> str:
    parameters = event.get("pathParameters")
    name = parameters.get("source") if isinstance(parameters, dict) else None
    return name if isinstance(name, str) else ""


def _check_address(source: Source, text: str) -> None:
    if not source.allow_cidrs:
        return
    # Imported here: few sources have a list, and it is slow to import.
    import ipaddress

    try:
        address = ipaddress.ip_address(text)
    except ValueError as error:
        raise Rejected(Code.NOT_ALLOWED_IP, "there is no source address") from error
    if isinstance(address, ipaddress.IPv6Address) and address.ipv4_mapped:
        address = address.ipv4_mapped
    networks = (ipaddress.ip_network(c, strict=False) for c in source.allow_cidrs)
    if not any(address in network for network in networks):
        raise Rejected(Code.NOT_ALLOWED_IP, f"{address} is in no allowed range")


def _accepted(events: Sequence[tuple[str, bool]]) -> Answer:
    """Name what was accepted: the first by the usual keys, several also as a list.

    ``deduplicated`` is true when none was new.
    """
    values: dict[str, Any] = {
        "event_id": events[0][0] if events else None,
        "deduplicated": bool(events) and not any(new for _, new in events),
    }
    if len(events) != 1:
        values["event_ids"] = [event_id for event_id, _ in events]
    return json_answer(values)
