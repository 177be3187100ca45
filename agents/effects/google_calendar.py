"""Effects on a calendar of Google's: an entry made, an entry changed.

Google lets the caller choose a new entry's id, of the letters a to v and digits. The
operation id is one, so a second entry cannot be made: Google answers 409, and the entry
that is there is ours. A change carries its operation id in a private property, and one
in doubt is looked for before it is sent again.

The secret holds a service account's key, or a person's consent (see
``lambdas.shared.google``); share the calendar with the account's address, to "make
changes to events".

Rules of the service, from developers.google.com/workspace/calendar: "Events: insert",
"Events: patch", "Extended properties" (300 of them), "Get specific versions of
resources" (ETags), "Handle API errors".
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any, Literal
from urllib.parse import quote, urlencode

from agents.effects import outgoing
from agents.effects.outgoing import Answer, Call
from lambdas.shared.adapters.google import Tokens
from lambdas.shared.effects import current_run, repeatable
from lambdas.shared.errors import Unavailable
from lambdas.shared.google import TOO_FAST, read_key

API = "https://www.googleapis.com/calendar/v3"
SCOPE = "https://www.googleapis.com/auth/calendar.events"
SECRET = "bellhop/google-calendar"  # noqa: S105 - the secret's name

# Google names no time beside a 403 that says "too fast": it means about a minute.
_A_WHILE = timedelta(seconds=60)

Result = dict[str, Any]
Notify = Literal["all", "externalOnly", "none"]

_tokens = Tokens()


@repeatable
def create(
    calendar_id: str,
    entry: Mapping[str, Any],
    *,
    notify: Notify = "none",
    operation_id: str,
    secret: str = SECRET,
    act_as: str | None = None,
) -> Result:
    """Make an entry; return its ``id`` and ``url``.

    ``entry`` is Google's own (``summary``, ``start``, ``end``, ...), without an id.
    ``notify`` says which guests Google writes to. Sent twice it is made once: the
    second is answered with the first, even if somebody has deleted it since.
    """
    where = _Where(calendar_id, secret, act_as)
    ask = _Ask(
        where=where,
        method="POST",
        query={"sendUpdates": notify},
        document={**_marked(entry, operation_id), "id": operation_id},
    )
    answer = ask.send()
    if answer.status != 409:
        return _result(answer)
    return _result(replace(ask, method="GET", entry_id=operation_id, query={}).send())


def _find_change(
    calendar_id: str,
    entry_id: str,
    changes: Mapping[str, Any],
    *,
    operation_id: str,
    since: datetime,
    secret: str = SECRET,
    act_as: str | None = None,
    **_: Any,
) -> Result | None:
    where = _Where(calendar_id, secret, act_as)
    answer = _Ask(where=where, method="GET", entry_id=entry_id, acts=False).send()
    if answer.status == 404:
        return None
    found = _checked(answer).value()
    private = (found.get("extendedProperties") or {}).get("private") or {}
    is_ours = private.get(_property(operation_id)) == f"bellhop:{operation_id}"
    return _named(found) if is_ours else None


@repeatable(look=_find_change)
def update(
    calendar_id: str,
    entry_id: str,
    changes: Mapping[str, Any],
    *,
    etag: str | None = None,
    notify: Notify = "none",
    operation_id: str,
    secret: str = SECRET,
    act_as: str | None = None,
) -> Result:
    """Change an entry's fields, and leave the others; return its ``id`` and ``url``.

    With ``etag`` only if nobody has changed it since that was read; else the run gives
    up. Sent again after a lost answer, the entry is looked at first, so what somebody
    has written into it meanwhile stays.
    """
    where = _Where(calendar_id, secret, act_as)
    ask = _Ask(
        where=where,
        method="PATCH",
        entry_id=entry_id,
        query={"sendUpdates": notify},
        document=_marked(changes, operation_id),
        etag=etag,
    )
    return _result(ask.send())


@dataclass(frozen=True, slots=True)
class _Where:
    calendar_id: str
    secret: str
    act_as: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class _Ask:
    """One request to the API; which token it carries is found when it is sent."""

    where: _Where
    method: str
    entry_id: str | None = None
    query: Mapping[str, str] | None = None
    document: Mapping[str, Any] | None = None
    etag: str | None = None
    acts: bool = True

    def send(self) -> Answer:
        """Return the answer; a token that was revoked early is replaced once."""
        key = read_key(self.where.secret, current_run().secret(self.where.secret))
        is_remembered = _tokens.remembers(key, SCOPE, self.where.act_as)
        answer = outgoing.send(self._call(anew=False))
        if answer.status == 401 and is_remembered:
            answer = outgoing.send(self._call(anew=True))
        return answer

    def _call(self, *, anew: bool) -> Call:
        call = Call(
            downstream="google",
            method=self.method,
            url=self._url(),
            body=b"" if self.method == "GET" else json.dumps(self.document).encode(),
            acts=self.acts and self.method != "GET",
        )
        key = read_key(self.where.secret, current_run().secret(self.where.secret))
        try:
            token = _tokens.get(
                key,
                SCOPE,
                act_as=self.where.act_as,
                seconds=outgoing.seconds_left(call),
                anew=anew,
            )
        except Unavailable as error:
            # Not "from": nothing was sent yet, whatever the cause says.
            raise call.later(f"could not be reached: {error}", error.after) from None
        headers = {"authorization": f"Bearer {token}"}
        if self.document is not None:
            headers["content-type"] = "application/json"
        if self.etag:
            headers["if-match"] = self.etag
        return replace(call, headers=headers, token=token)

    def _url(self) -> str:
        path = f"/calendars/{quote(self.where.calendar_id, safe='')}/events"
        if self.entry_id is not None:
            path += f"/{quote(self.entry_id, safe='')}"
        query = f"?{urlencode(self.query)}" if self.query else ""
        return f"{API}{path}{query}"


def _marked(entry: Mapping[str, Any], operation_id: str) -> dict[str, Any]:
    """Return ``entry`` with the operation id in a private property of its own."""
    given = entry.get("extendedProperties") or {}
    private = {
        **(given.get("private") or {}),
        _property(operation_id): f"bellhop:{operation_id}",
    }
    return {**entry, "extendedProperties": {**given, "private": private}}


def _property(operation_id: str) -> str:
    # At most 44 letters; one for each change, so that a later one hides no earlier.
    return f"bellhop_{operation_id[:12]}"


def _result(answer: Answer) -> Result:
    made = _checked(answer).value()
    if not isinstance(made, dict) or not made.get("id"):
        raise answer.call.unknown("answered no entry")
    return _named(made)


def _named(entry: Mapping[str, Any]) -> Result:
    return {"id": entry["id"], "url": entry.get("htmlLink")}


def _checked(answer: Answer) -> Answer:
    """Return a 2xx answer, or raise what Google's refusal means."""
    if answer.status == 403 and _reason(answer) in TOO_FAST:
        why = f"answered 403: {answer.message}"
        raise answer.call.later(why, answer.after or _A_WHILE)
    return answer.checked()


def _reason(answer: Answer) -> str:
    try:
        return str(answer.json()["error"]["errors"][0]["reason"])
    except (TypeError, KeyError, IndexError):
        return ""
