"""Effects on Linear: a comment.

Linear lets the caller choose a new entity's id, a UUID of version 4. Ours is
made from the operation id, so a second comment cannot be made; Linear refuses
it with an error instead of answering as before, so one in doubt is looked up
under its id first.

Rules of the service, from linear.app/developers: "Working with the GraphQL
API", "Rate limiting" (HTTP 400 with ``RATELIMITED``), "OAuth 2.0
authentication"; the fields of ``CommentCreateInput`` in its published schema.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

from agents.effects import outgoing
from agents.effects.outgoing import Answer, Call
from lambdas.shared.effects import repeatable
from lambdas.shared.waiting import until

API = "https://api.linear.app/graphql"
SECRET = "bellhop/linear-token"  # noqa: S105 - the secret's name

_CREATE = """mutation Create($input: CommentCreateInput!) {
  commentCreate(input: $input) { success comment { id url } }
}"""
_READ = """query Read($id: String!) { comment(id: $id) { id url } }"""

# The types of error that Linear's own SDK knows and that may pass.
_HALF_WAY = frozenset(
    {"internal error", "network error", "lock timeout", "bootstrap error", "unknown"}
)

Result = dict[str, Any]


def _find_comment(
    issue_id: str,
    body: str,
    *,
    operation_id: str,
    since: datetime,
    secret: str = SECRET,
    **_: Any,
) -> Result | None:
    wanted = {"id": _comment_id(operation_id)}
    call = _call(_READ, wanted, secret, acts=False)
    answer = outgoing.send(call)
    error = _error(answer)
    if error is not None and _message(error).startswith("Entity not found"):
        return None
    found = _data(call, answer, error).get("comment")
    return dict(found) if isinstance(found, Mapping) else None


@repeatable(look=_find_comment)
def comment(
    issue_id: str,
    body: str,
    *,
    parent_id: str | None = None,
    operation_id: str,
    secret: str = SECRET,
) -> Result:
    """Comment on an issue; return the comment's ``id`` and ``url``.

    ``issue_id`` is the issue's UUID or its key (``ENG-12``); ``parent_id`` makes
    it a reply. Sent again after a lost answer, it is looked up first, and
    Linear itself refuses a second one under its id.
    """
    document = {"id": _comment_id(operation_id), "issueId": issue_id, "body": body}
    if parent_id:
        document["parentId"] = parent_id
    call = _call(_CREATE, {"input": document}, secret)
    answer = outgoing.send(call)
    made = _data(call, answer, _error(answer)).get("commentCreate")
    if not isinstance(made, Mapping) or made.get("success") is not True:
        raise call.unknown("answered without success")
    return dict(made["comment"])


def _comment_id(operation_id: str) -> str:
    return str(uuid.UUID(hex=operation_id, version=4))


def _call(
    query: str, variables: Mapping[str, Any], secret: str, *, acts: bool = True
) -> Call:
    value = outgoing.token(secret)
    # Personal keys go bare, OAuth tokens as bearer.
    bare = value.startswith("lin_api_")
    return Call(
        downstream="linear",
        method="POST",
        url=API,
        headers={
            "authorization": value if bare else f"Bearer {value}",
            "content-type": "application/json",
        },
        body=json.dumps({"query": query, "variables": variables}).encode(),
        token=value,
        acts=acts,
    )


def _error(answer: Answer) -> Mapping[str, Any] | None:
    """Return the first GraphQL error, which may come with any status."""
    document = answer.json()
    errors = document.get("errors") if isinstance(document, dict) else None
    first = errors[0] if isinstance(errors, list) and errors else None
    return first if isinstance(first, dict) else None


def _data(call: Call, answer: Answer, error: Mapping[str, Any] | None) -> Result:
    if error is not None:
        details = error.get("extensions") or {}
        kind = str(details.get("type", "")).lower()
        if details.get("code") == "RATELIMITED" or kind == "ratelimited":
            raise call.later("answered RATELIMITED", _wait(answer))
        if answer.status < 500 and kind not in _HALF_WAY:
            raise call.refused(f"refused: {_message(error)}")
        raise call.unknown(f"answered {kind or answer.status}: {_message(error)}")
    document = answer.value()
    data = document.get("data") if isinstance(document, dict) else None
    if not isinstance(data, dict):
        raise call.unknown("answered no data")
    return data


def _message(error: Mapping[str, Any]) -> str:
    details = error.get("extensions") or {}
    return str(details.get("userPresentableMessage") or error.get("message"))


def _wait(answer: Answer) -> timedelta | None:
    """Return what the rate limit's headers ask for; the reset is in epoch ms."""
    reset = answer.headers.get("x-ratelimit-requests-reset", "")
    if answer.after is None and reset.isdecimal():
        instant = datetime.fromtimestamp(int(reset[:14]) / 1000, UTC)
        return until(instant)
    return answer.after
