"""Okta: event hooks of an organisation.

Set up: Workflow > Event Hooks > Create; authentication field Authorization or
  X-Okta-Token, authentication secret = the source's; then Verify.
Signed: nothing; the secret itself comes in that header.
Retries: once; an answer is wanted within 3 s.
Success: any 2xx.
Delivery id: ``uuid`` of each event of the request.
Not protected: whoever reads one request can make others; any time, any body.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from lambdas.receiver.senders import (
    Answer,
    FirstSpoken,
    Header,
    Request,
    Sender,
    Token,
    json_answer,
    walk,
)


def _events(data: Any) -> Iterable[Any]:
    events = walk(data, "data.events")
    return events if isinstance(events, list) else [data]


def _challenge(request: Request) -> Answer | None:
    challenge = request.header("x-okta-verification-challenge")
    return json_answer({"verification": challenge}) if challenge else None


SENDER = Sender(
    proof=FirstSpoken(
        (Token(place=Header("x-okta-token")), Token(place=Header("authorization")))
    ),
    delivery_id="uuid",
    kind="eventType",
    occurred_at="published",
    actor="actor.alternateId",
    thread="target.0.id",
    facts={"severity": "severity", "outcome": "outcome.result"},
    methods=("GET", "POST"),
    body="any",
    reply=_challenge,
    split=_events,
    gives_up_after_seconds=3,
)
