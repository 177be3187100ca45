"""The effect for every service that has no module here: one HTTP POST."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

from agents.effects import outgoing
from agents.effects.outgoing import Answer, Call
from lambdas.shared.errors import GiveUp

# A result is kept in the ledger; a page of HTML is not worth it.
_LONGEST_TEXT = 10_000


def post(
    url: str,
    document: Any = None,
    *,
    headers: Mapping[str, str] | None = None,
    operation_id: str,
    secret: str | None = None,
) -> dict[str, Any]:
    """POST ``document`` as JSON with ``Idempotency-Key``; return ``status``, ``body``.

    Not repeatable by itself: only you know whether the other side honours the
    key (draft-ietf-httpapi-idempotency-key-header). Where it does, say so at
    the call: ``run.effect("order", http.post, url, order, repeatable=True)``.

    ``secret`` names a bearer token. The URL stays out of every message, because
    a webhook's URL is often a secret; do not take it from an untrusted payload.
    """
    parts = urlsplit(url)
    if parts.scheme not in {"http", "https"} or not parts.hostname:
        raise GiveUp("http.post: want a whole http or https URL")
    value = outgoing.token(secret) if secret else ""
    sent = {
        "content-type": "application/json",
        "accept": "application/json",
        **{name.lower(): text for name, text in (headers or {}).items()},
        "idempotency-key": operation_id,
    }
    if value:
        sent["authorization"] = f"Bearer {value}"
    call = Call(
        downstream=parts.hostname,
        method="POST",
        url=url,
        headers=sent,
        body=_encoded(document),
        token=value,
    )
    answer = outgoing.send(call).checked()
    return {"status": answer.status, "body": _kept(answer)}


def _encoded(document: Any) -> bytes:
    try:
        return json.dumps(document).encode()
    except (TypeError, ValueError) as error:
        # Said as what it is, or the effect would be in doubt though never sent.
        raise GiveUp(f"http.post: the document is not JSON: {error}") from error


def _kept(answer: Answer) -> Any:
    try:
        return json.loads(answer.body)
    except (ValueError, RecursionError):
        return answer.body.decode("utf-8", "replace")[:_LONGEST_TEXT]
