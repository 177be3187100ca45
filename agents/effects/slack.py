"""Effects on Slack: a message, a reply in a thread, an edit.

``chat.postMessage`` honours no idempotency key. A message therefore carries its
operation id in its metadata, and one in doubt is looked for before it is sent
again; that needs the scope ``channels:history`` (or ``groups:``, ``im:``) and
the channel's id, since history knows no names.

Rules of the service, from docs.slack.dev: the pages of ``chat.postMessage``,
``chat.update``, ``conversations.history``, ``conversations.replies`` (errors,
paging), "Message metadata", "Rate limits" (429 with ``Retry-After``).
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any
from urllib.parse import urlencode

from agents.effects import outgoing
from agents.effects.outgoing import Call
from lambdas.shared.effects import repeatable
from lambdas.shared.errors import OutcomeUnknown

API = "https://slack.com/api"
SECRET = "bellhop/slack-token"  # noqa: S105 - the secret's name

_EVENT_TYPE = "bellhop_effect"
_PAGE = 200
_MOST_PAGES = 10
# Our clock and Slack's may differ.
_SKEW = timedelta(minutes=5)

# Slack answers 200 to nearly everything and says in "error" what happened.
_PASSING = frozenset(
    {"ratelimited", "rate_limited", "service_unavailable", "request_timeout"}
)
# Slack: "It's possible some aspect of the operation succeeded".
_HALF_WAY = frozenset({"internal_error", "fatal_error"})

Result = dict[str, Any]
Blocks = Sequence[Mapping[str, Any]]


def _find_message(
    channel: str,
    text: str,
    *,
    thread: str | None = None,
    operation_id: str,
    since: datetime,
    secret: str = SECRET,
    **_: Any,
) -> Result | None:
    method = "conversations.replies" if thread else "conversations.history"
    query = {
        "channel": channel,
        "oldest": f"{(since - _SKEW).timestamp():.6f}",
        "include_all_metadata": "true",
        "limit": str(_PAGE),
        **({"ts": thread} if thread else {}),
    }
    for page in _pages(method, query, secret):
        for message in page.get("messages", []):
            if _operation_id(message) == operation_id:
                return {"channel": channel, "ts": message["ts"]}
    return None


@repeatable(look=_find_message)
def post(
    channel: str,
    text: str,
    *,
    blocks: Blocks | None = None,
    thread: str | None = None,
    operation_id: str,
    secret: str = SECRET,
) -> Result:
    """Post a message; return its ``channel`` and ``ts``.

    ``thread`` is the ``ts`` of the message it replies to. Sent again after a
    lost answer, the channel (or thread) is looked through first; name it by id
    (``C024BE91L``), or the doubt stays and the run is dead.
    """
    document: dict[str, Any] = {
        "channel": channel,
        "text": text,
        "metadata": {
            "event_type": _EVENT_TYPE,
            "event_payload": {"operation_id": operation_id},
        },
    }
    if blocks:
        document["blocks"] = [dict(block) for block in blocks]
    if thread:
        document["thread_ts"] = thread
    posted = _write("chat.postMessage", document, secret)
    return {"channel": posted.get("channel", channel), "ts": posted["ts"]}


def _find_reply(channel: str, thread: str, text: str, **keywords: Any) -> Result | None:
    return _find_message(channel, text, thread=thread, **keywords)


@repeatable(look=_find_reply)
def reply(
    channel: str,
    thread: str,
    text: str,
    *,
    blocks: Blocks | None = None,
    operation_id: str,
    secret: str = SECRET,
) -> Result:
    """Reply in the thread under the message ``thread``; otherwise as :func:`post`."""
    return post(
        channel,
        text,
        blocks=blocks,
        thread=thread,
        operation_id=operation_id,
        secret=secret,
    )


@repeatable
def update(
    channel: str,
    ts: str,
    text: str,
    *,
    blocks: Blocks | None = None,
    operation_id: str,
    secret: str = SECRET,
) -> Result:
    """Replace a message's text; return its ``channel`` and ``ts``.

    Sent twice it leaves the same message, so it is simply sent again.
    """
    document: dict[str, Any] = {"channel": channel, "ts": ts, "text": text}
    if blocks is not None:
        document["blocks"] = [dict(block) for block in blocks]
    _write("chat.update", document, secret)
    return {"channel": channel, "ts": ts}


def _operation_id(message: Mapping[str, Any]) -> str | None:
    metadata = message.get("metadata") or {}
    if metadata.get("event_type") != _EVENT_TYPE:
        return None
    found = (metadata.get("event_payload") or {}).get("operation_id")
    return found if isinstance(found, str) else None


def _write(method: str, document: Result, secret: str) -> Result:
    value = outgoing.token(secret)
    return _answered(
        Call(
            downstream="slack",
            method="POST",
            url=f"{API}/{method}",
            headers={
                "authorization": f"Bearer {value}",
                "content-type": "application/json; charset=utf-8",
            },
            body=json.dumps(document).encode(),
            token=value,
        )
    )


def _pages(method: str, query: Mapping[str, str], secret: str) -> Iterator[Result]:
    value = outgoing.token(secret)
    cursor = ""
    for _ in range(_MOST_PAGES):
        asked = {**query, **({"cursor": cursor} if cursor else {})}
        page = _answered(
            Call(
                downstream="slack",
                method="GET",
                url=f"{API}/{method}?{urlencode(asked)}",
                headers={"authorization": f"Bearer {value}"},
                token=value,
                acts=False,
            )
        )
        yield page
        cursor = (page.get("response_metadata") or {}).get("next_cursor") or ""
        if not cursor:
            return
    raise OutcomeUnknown(
        f"slack lists more than {_MOST_PAGES * _PAGE} messages to look through",
        downstream="slack",
    )


def _answered(call: Call) -> Result:
    answer = outgoing.send(call)
    document = answer.value()
    if not isinstance(document, dict):
        raise call.unknown("answered no JSON object")
    if document.get("ok") is True:
        return document
    error = str(document.get("error"))
    if error in _PASSING:
        raise call.later(f"answered {error}", answer.after)
    if error in _HALF_WAY:
        raise call.unknown(f"answered {error}", answer.after)
    raise call.refused(f"refused: {error}")
