"""Notion: webhooks of a connection.

Set up: Connections > the connection > Webhooks > Create a subscription. Notion
  first sends a verification token, which the receiver's log shows: store it as
  the source's secret (it is the key from then on) and paste it at Notion.
Signed: the raw body, HMAC-SHA256, hex in either case after ``sha256=``,
  X-Notion-Signature.
Retries: up to eight over about 24 h; answer soon.
Success: any 2xx; the first request is answered, not stored.
Delivery id: ``id`` of the event, which is signed.
Not protected: the first request is not proven: a stranger's token may be in the
  log too. A captured body sent again has no effect while its id is remembered.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from lambdas.receiver.senders import Answer, Header, Hmac, Request, Sender
from lambdas.shared.observe import logger

_FIRST = re.compile(rb'\s*{\s*"verification_token"\s*:\s*"(secret_\w{1,128})"\s*}\s*')


def _greet(request: Request, secrets: Sequence[str]) -> Answer | None:
    first = _FIRST.fullmatch(request.body[:512])
    if first is None or len(request.body) > 512:
        return None
    token = first[1].decode()
    if token not in secrets:
        # Not a secret yet, and the operator has no other way to learn it.
        logger.warning("notion sent a verification token", verification_token=token)
    return Answer()


SENDER = Sender(
    proof=Hmac(signature=Header("x-notion-signature"), prefix="sha256=", any_case=True),
    delivery_id="id",
    kind="type",
    occurred_at="timestamp",
    tenant="workspace_id",
    actor="authors.0.id",
    thread="entity.id",
    facts={"entity": "entity.type", "workspace": "workspace_name"},
    greet=_greet,
)
