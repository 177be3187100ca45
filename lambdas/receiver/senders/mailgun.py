"""Mailgun: events of e-mails.

Set up: Send > Webhooks > Add webhook; the secret is the HTTP webhook signing
  key.
Signed: ``signature.timestamp`` and ``signature.token``, both in the body,
  HMAC-SHA256, hex, ``signature.signature``. Not the event itself. 9 h: a repeat
  keeps the first signature, and the last comes after 8 h.
Retries: seven in 8 h, none after a 406; answer soon.
Success: 200.
Delivery id: ``signature.token``, which is signed: it works once.
Not protected: the event: whoever reads a request before it arrives can put
  another event under its signature, once; the ledger remembers the token.
"""

from __future__ import annotations

from lambdas.receiver.senders import TIME, Body, Hmac, Request, Sender, Time, walk
from lambdas.shared.errors import Code, Rejected


def _token(request: Request) -> bytes:
    token = walk(request.data, "signature.token")
    if not isinstance(token, str) or not token:
        raise Rejected(Code.BAD_SIGNATURE, "there is no token")
    return token.encode("utf-8", "surrogatepass")


SENDER = Sender(
    proof=Hmac(
        signature=Body("signature.signature"),
        signed=(TIME, _token),
        time=Time(place=Body("signature.timestamp"), tolerance_seconds=9 * 3600),
    ),
    delivery_id="signature.token",
    kind="event-data.event",
    occurred_at="event-data.timestamp",
    actor="event-data.recipient",
    thread="event-data.message.headers.message-id",
    facts={
        "severity": "event-data.severity",
        "reason": "event-data.reason",
        "recipient": "event-data.recipient",
        "domain": "event-data.recipient-domain",
    },
)
