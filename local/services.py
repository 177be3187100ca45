"""How the services that the outside world plays speak: what an effect can see.

A service that is not named here answers a POST with what was posted and an id,
and a GET with the list of what was posted to that path. That is enough for
most, and for the ready-made effects on GitHub and Stripe. Slack, Linear and
Google's calendar answer in envelopes of their own.
"""

from __future__ import annotations

import re
import uuid
from collections.abc import Mapping, Sequence
from typing import Any

# Stripe and most others take the operation id in this header.
_HEADERS = ("idempotency-key", "x-idempotency-key")
# GitHub keeps it in a hidden comment or external_id, Slack in the metadata.
_IN_BODY = re.compile(
    r"bellhop:([0-9a-f]{32})"
    r"|\"(?:operation_id|external_id|bellhop_operation)\":\s*\"([0-9a-f]{32})\""
)
_LINEAR = "/api.linear.app/graphql"
_ENTRIES = re.compile(r"/www\.googleapis\.com/calendar/v3/[^?]+/events(?:/([^/]+))?")
#: Where Google gives tokens, which are no effect.
TOKENS = "/oauth2.googleapis.com/token"

Posted = Sequence[Mapping[str, Any]]


def operation_id(
    path: str, headers: Mapping[str, str], body: bytes, value: Any
) -> str | None:
    """Find the operation id where the service takes it; ``value`` is the body read."""
    for name in _HEADERS:
        if headers.get(name):
            return headers[name]
    if path == _LINEAR:
        return _linear_id(value)
    found = _IN_BODY.search(body.decode("utf-8", "replace"))
    return next(filter(None, found.groups()), None) if found else None


def is_look(path: str, value: Any) -> bool:
    """Tell whether a POST only looks: a GraphQL query."""
    return path == _LINEAR and str(_of(value, "query")).lstrip().startswith("query")


def answer(path: str, value: Any, *, number: int, at: float) -> dict[str, Any]:
    """Answer a new effect: what was posted, and the names it got."""
    made = {
        **(value if isinstance(value, dict) else {}),
        "ok": True,
        "id": number,
        "ts": f"{at:.6f}",
        "html_url": f"https:/{path}#{number}",
    }
    if path == _LINEAR:
        comment = {
            "id": _of(value, "variables", "input", "id"),
            "url": made["html_url"],
        }
        made["data"] = {"commentCreate": {"success": True, "comment": comment}}
    entries = _ENTRIES.fullmatch(path)
    if entries is not None:
        name = entries[1] or _of(value, "id") or f"made{number}"
        made |= {"id": name, "htmlLink": f"https://www.google.com/calendar#{name}"}
    return made


def token() -> dict[str, Any]:
    """Return an access token, whatever it was asked for with."""
    return {"access_token": "made-up", "expires_in": 3599, "token_type": "Bearer"}


def listed(path: str) -> str:
    """Return the path whose effects a GET lists; mostly its own."""
    path = re.sub(r"/conversations\.(history|replies)$", "/chat.postMessage", path)
    return re.sub(r"/commits/[^/]+/check-runs$", "/check-runs", path)


def listing(path: str, query: Mapping[str, str], posted: Posted) -> Any:
    """Answer a GET with what was posted, in the service's envelope."""
    if path.endswith("/check-runs"):
        return {"check_runs": list(posted)}
    if "/conversations." in path:
        there = [each for each in posted if each.get("channel") == query.get("channel")]
        return {"ok": True, "messages": list(reversed(there))}
    entries = _ENTRIES.fullmatch(path)
    if entries is not None and entries[1]:
        return {"id": entries[1], **{k: v for e in posted for k, v in e.items()}}
    return list(posted)


def looked_up(value: Any, posted: Posted) -> dict[str, Any]:
    """Answer a GraphQL query for one entity by its id."""
    wanted = _of(value, "variables", "id")
    for each in posted:
        comment: Any = _of(each, "data", "commentCreate", "comment")
        if _of(comment, "id") == wanted:
            return {"data": {"comment": comment}}
    return {"data": None, "errors": [{"message": "Entity not found: Comment"}]}


def _linear_id(value: Any) -> str | None:
    """Linear lets the caller choose the new entity's id."""
    text = _of(value, "variables", "input", "id")
    try:
        return uuid.UUID(text).hex if isinstance(text, str) else None
    except ValueError:
        return None


def _of(value: Any, *names: str) -> Any:
    for name in names:
        value = value.get(name) if isinstance(value, Mapping) else None
    return value
