"""Asks Google's Calendar API what is new, within bounds; says who must act if refused.

Rules of the service, from developers.google.com/workspace/calendar: "Synchronize
resources efficiently" (sync tokens, 410), "Events: list", "Handle API errors" (which
403 may pass; exponential back-off), "Events" (cancelled exceptions).
"""

from __future__ import annotations

import json
import random
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Protocol
from urllib.parse import quote, urlencode

from lambdas.planner.ical import MOST_ENTRIES
from lambdas.planner.occurrence import Refused, text_of
from lambdas.shared.errors import Misconfigured, Unavailable
from lambdas.shared.fetch import TooLarge
from lambdas.shared.google import TOO_FAST, Key
from lambdas.shared.outside import Answer
from lambdas.shared.waiting import retry_after

API = "https://www.googleapis.com/calendar/v3"
SCOPE = "https://www.googleapis.com/auth/calendar.readonly"

# A calendar is read and expanded within a minute: 30 s are the other half's.
LONGEST_SECONDS = 25.0
_CALL_SECONDS = 10.0
MOST_BYTES = 20_000_000
# Google's own largest page is 2,500 entries; it may send smaller ones.
_PAGE = 2_500
MOST_PAGES = 60

# Google's own have some hundred characters.
_LONGEST_TOKEN = 4_096

_ATTEMPTS = 4
_FIRST_PAUSE_SECONDS = 0.5

_FIELDS = (
    "accessRole,nextPageToken,nextSyncToken,items(id,iCalUID,status,summary,"
    "description,location,start,end,recurrence,recurringEventId,originalStartTime,"
    "attendees(email))"
)

_NOT_ENABLED = frozenset({"accessNotConfigured", "SERVICE_DISABLED"})
_NO_SCOPE = frozenset({"insufficientPermissions", "ACCESS_TOKEN_SCOPE_INSUFFICIENT"})


class Gone(Exception):
    """The sync token is none any more: everything must be read anew."""


class TokenOf(Protocol):
    """Gets access tokens: :meth:`lambdas.shared.adapters.google.Tokens.get`."""

    def __call__(
        self,
        key: Key,
        scope: str,
        *,
        act_as: str | None = None,
        seconds: float,
        anew: bool = False,
    ) -> str:
        """Return a token; raises Misconfigured, Unavailable."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Whose:
    """Which calendar is read, and as whom."""

    calendar_id: str
    key: Key
    act_as: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Changes:
    """What Google told: all entries if ``is_full``, else those that have changed."""

    items: tuple[Mapping[str, Any], ...]
    token: str
    is_full: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Api:
    """Google's Calendar API, through ``exchange``; waits by ``pause``."""

    exchange: Callable[..., Answer]
    token_of: TokenOf
    pause: Callable[[float], None] = time.sleep
    spread: Callable[[], float] = random.random

    def changes(self, whose: Whose, *, token: str, since: datetime) -> Changes:
        """Return what has changed since ``token`` was given, else all after ``since``.

        Raises:
            Refused: it is more than we read, or no list of entries.
            Misconfigured: Google refuses us; the message says who must act.
            Unavailable: it did not answer, or is not to be asked now.
        """
        look = _Look(self, whose)
        if token:
            try:
                items, newer = look.pages({"syncToken": token})
                return Changes(items=items, token=newer, is_full=False)
            except Gone:
                pass
        items, newer = look.pages({"timeMin": text_of(since)})
        return Changes(items=items, token=newer, is_full=True)


@dataclass
class _Look:
    """One look at one calendar, with its bounds on time and bytes."""

    api: Api
    whose: Whose
    ends: float = field(default_factory=lambda: time.monotonic() + LONGEST_SECONDS)
    bytes_left: int = MOST_BYTES
    is_renewed: bool = False

    def pages(
        self, asked: Mapping[str, str]
    ) -> tuple[tuple[Mapping[str, Any], ...], str]:
        """Return the items of all pages, and the token that ends them."""
        calendar = quote(self.whose.calendar_id, safe="")
        # The same at every page and every look, or the tokens mean something else.
        query = {"maxResults": str(_PAGE), "fields": _FIELDS, **asked}
        found: list[Mapping[str, Any]] = []
        seen = set()
        for _ in range(MOST_PAGES):
            url = f"{API}/calendars/{calendar}/events?{urlencode(query)}"
            page = self._page(url, has_token="syncToken" in asked)
            found += _items(page)
            if len(found) > MOST_ENTRIES:
                raise Refused(f"more than {MOST_ENTRIES} entries")
            if not page.get("nextPageToken"):
                # Without one that can be given back, all is read anew the next time.
                return tuple(found), _given_back(page.get("nextSyncToken"))
            more = _given_back(page["nextPageToken"])
            if not more:
                raise Refused("the name of its next page is none")
            if more in seen:
                raise Refused("its pages lead in a circle")
            seen.add(more)
            query["pageToken"] = more
        raise Refused(f"more than {MOST_PAGES} pages")

    def _page(self, url: str, *, has_token: bool) -> Mapping[str, Any]:
        for attempt in range(_ATTEMPTS):
            try:
                answer = self._ask(url)
                self._check(answer, has_token=has_token)
                return self._read(answer)
            except TooLarge as error:
                raise Refused(str(error)) from error
            except Unavailable as error:
                self._wait(error, attempt)
        raise AssertionError("the last attempt raises")

    def _ask(self, url: str) -> Answer:
        token = self._token(anew=False)
        answer = self._call(url, token)
        if answer.status == 401 and not self.is_renewed:
            # Revoked before its time: another one, once a look.
            self.is_renewed = True
            answer = self._call(url, self._token(anew=True))
        return answer

    def _token(self, *, anew: bool) -> str:
        return self.api.token_of(
            self.whose.key,
            SCOPE,
            act_as=self.whose.act_as,
            seconds=self._seconds(),
            anew=anew,
        )

    def _call(self, url: str, token: str) -> Answer:
        answer = self.api.exchange(
            url,
            headers={"authorization": f"Bearer {token}", "accept": "application/json"},
            most_bytes=self.bytes_left,
            timeout_seconds=self._seconds(),
        )
        self.bytes_left -= len(answer.body)
        return answer

    def _seconds(self) -> float:
        left = self.ends - time.monotonic()
        if left <= 0:
            raise Refused(f"reading it took longer than {LONGEST_SECONDS:g} s")
        return min(left, _CALL_SECONDS)

    def _wait(self, error: Unavailable, attempt: int) -> None:
        """Wait as long as Google asks, or raise: the next look is soon enough."""
        if error.after is not None:
            seconds = error.after.total_seconds()
        else:
            most = _FIRST_PAUSE_SECONDS * 2**attempt
            seconds = most * (1 + self.api.spread()) / 2
        if attempt + 1 == _ATTEMPTS or seconds >= self.ends - time.monotonic():
            raise error
        self.api.pause(seconds)

    def _check(self, answer: Answer, *, has_token: bool) -> None:
        """Raise what an answer other than 200 means."""
        status = answer.status
        if status == 200:
            return
        reason, message = _error(answer)
        said = f"Google answered {status} ({reason or message or 'without a reason'})"
        if has_token and status in (400, 410):
            # 400: a token of another calendar, or of another way of asking.
            raise Gone
        if status in (408, 429) or status >= 500 or reason in TOO_FAST:
            after = retry_after(answer.headers.get("retry-after"))
            raise Unavailable(said, after=after)
        if status in (401, 403, 404):
            raise Misconfigured(f"{said}: {self._todo(status, reason)}")
        raise Refused(said)

    def _todo(self, status: int, reason: str) -> str:
        owner, calendar = self.whose.key.owner, self.whose.calendar_id
        if self.whose.act_as:
            owner = self.whose.act_as
        if reason in _NOT_ENABLED:
            return "enable the Google Calendar API in the project of the key"
        if reason in _NO_SCOPE:
            return f"the key's token lacks the scope {SCOPE}: consent again"
        if status == 401:
            return "a new token is refused, too: make a new key"
        if status == 404:
            return (
                f"there is no calendar {calendar!r}, or it is not shared with {owner}"
            )
        return f"share the calendar {calendar!r} with {owner}"

    def _read(self, answer: Answer) -> Mapping[str, Any]:
        try:
            page = json.loads(answer.body)
        except (ValueError, RecursionError):
            page = None
        if not isinstance(page, dict):
            raise Refused("Google answered something else than a list of entries")
        if page.get("accessRole") == "freeBusyReader":
            owner = self.whose.act_as or self.whose.key.owner
            raise Misconfigured(
                f"{owner} may see only when somebody is busy: share the calendar with"
                " all event details"
            )
        return page


def _items(page: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    items = page.get("items", [])
    if not isinstance(items, list):
        raise Refused("Google answered something else than a list of entries")
    return [item for item in items if isinstance(item, dict)]


def _given_back(token: Any) -> str:
    """Return a token that a query and the ledger's row can hold, or nothing."""
    is_one = isinstance(token, str) and token.isascii() and token.isprintable()
    return token if is_one and len(token) <= _LONGEST_TOKEN else ""


def _error(answer: Answer) -> tuple[str, str]:
    """Return Google's word for a refusal, and its sentence."""
    try:
        error = json.loads(answer.body)["error"]
        message = " ".join(str(error.get("message", "")).split())[:200]
        first = next(iter(error.get("errors") or error.get("details") or [{}]))
        return str(first.get("reason", "")), message
    except (ValueError, RecursionError, TypeError, KeyError, AttributeError):
        return "", ""
