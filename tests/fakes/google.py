"""Google's token endpoint and Calendar API, as their public description has them.

Tokens are really checked: a service account's assertion by its public key, a refresh
token by its client. Sync tokens, pages, deletions, client-chosen ids and ETags are as
documented under "Synchronize resources efficiently", "Events: list", "Events: insert",
"Handle API errors" and "Get specific versions of resources".
"""

from __future__ import annotations

import functools
import json
import re
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

import jwt
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
)

from lambdas.shared.fetch import TooLarge
from tests.fakes.services import Reply, Request

TOKENS, API = "oauth2.googleapis.com", "www.googleapis.com"
CALENDAR = "team@group.calendar.google.com"
ROBOT = "planner@acme.iam.gserviceaccount.com"
PERSON = "finance@acme.example"
_SCOPE = "https://www.googleapis.com/auth/calendar"
_SCOPES = (_SCOPE, f"{_SCOPE}.readonly", f"{_SCOPE}.events")
_ID = re.compile(r"[a-v0-9]{5,1024}")
_PATH = re.compile(r"/calendar/v3/calendars/([^/]+)/events(?:/([^/]+))?")
# May not be said together with a sync token.
_NOT_WITH_TOKEN = {"iCalUID", "orderBy", "q", "timeMin", "timeMax", "updatedMin"}


@functools.cache
def _key_pair() -> rsa.RSAPrivateKey:
    return rsa.generate_private_key(public_exponent=65537, key_size=2048)


def service_account(**changed: str) -> str:
    """Return the key file of ROBOT."""
    pem = _key_pair().private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    told = {
        "type": "service_account",
        "project_id": "acme",
        "private_key_id": "k1",
        "private_key": pem.decode(),
        "client_email": ROBOT,
        "client_id": "1234567890",
        "token_uri": f"https://{TOKENS}/token",
        **changed,
    }
    return json.dumps(told, indent=2)


def consent(**changed: str) -> str:
    """Return a person's consent, as ``gcloud`` writes it."""
    told = {
        "type": "authorized_user",
        "client_id": "c1.apps.googleusercontent.com",
        "client_secret": "s1",
        "refresh_token": "r1",
        **changed,
    }
    return json.dumps(told)


@dataclass
class _Calendar:
    events: dict[str, dict[str, Any]] = field(default_factory=dict)
    changed: dict[str, int] = field(default_factory=dict)
    version: int = 0


class FakeGoogle:
    """The services of Google that the planner and its effect use."""

    def __init__(self, *, page: int = 2500, token: str = "") -> None:
        """Send pages of ``page`` entries; ``token`` is every token that is given."""
        self.page = page
        self.token = token
        self.calendars: dict[str, _Calendar] = {CALENDAR: _Calendar()}
        self.refresh_tokens = {"r1"}
        self.accounts = {ROBOT}
        self.delegated: set[str] = set()
        self.shared_with = {ROBOT, PERSON}
        self.busy_only = False
        self.oldest_token = 0
        #: Answers in place of the API's own, one after another.
        self.troubles: deque[Reply] = deque()
        self.token_troubles: deque[Reply] = deque()
        self.requests: list[Request] = []
        #: The ids of entries, as often as each was written by a request.
        self.written: list[str] = []
        self._tokens: dict[str, str] = {}

    # What a person does in the calendar.

    def put(self, event: Mapping[str, Any], *, calendar: str = CALENDAR) -> None:
        """Add an entry, or replace it."""
        name = str(event["id"])
        whole = {"iCalUID": f"{name}@google.com", "status": "confirmed", **event}
        self._note(self.calendars[calendar], name, whole)

    def delete(self, name: str, *, calendar: str = CALENDAR) -> None:
        """Delete an entry; of a series, its exceptions too."""
        there = self.calendars[calendar]
        for other, event in list(there.events.items()):
            if event.get("recurringEventId") == name:
                there.changed.pop(other), there.events.pop(other)
        self._note(there, name, {"id": name, "status": "cancelled"})

    def cancel(self, series: str, original: dict[str, str]) -> None:
        """Cancel one occurrence of a series."""
        told = re.sub(r"\D", "", next(iter(original.values())))[:14]
        event: dict[str, Any] = {
            "id": f"{series}_{told}",
            "status": "cancelled",
            "recurringEventId": series,
            "originalStartTime": original,
        }
        self._note(self.calendars[CALENDAR], event["id"], event)

    def expire_sync_tokens(self) -> None:
        """Refuse every sync token that was given so far."""
        self.oldest_token = self.calendars[CALENDAR].version + 1
        self.calendars[CALENDAR].version += 1

    def revoke_access_tokens(self) -> None:
        """Refuse every access token that was given so far."""
        self._tokens.clear()

    def _note(self, there: _Calendar, name: str, event: dict[str, Any]) -> None:
        there.version += 1
        there.changed[name] = there.version
        there.events[name] = {**event, "etag": f'"{there.version}"'}

    # What is asked over HTTP.

    def exchange(
        self,
        url: str,
        *,
        headers: Mapping[str, str],
        most_bytes: int,
        timeout_seconds: float,  # noqa: ARG002 - as the adapter is called
        method: str = "GET",
        body: bytes | None = None,
    ) -> Any:
        """Answer in this process, as ``lambdas.shared.adapters.https.exchange``."""
        parts = urlsplit(url)
        request = Request(
            host=parts.netloc,
            method=method,
            path=parts.path,
            query=dict(parse_qsl(parts.query)),
            headers={name.lower(): text for name, text in headers.items()},
            body=body or b"",
        )
        reply = self(request)
        if len(reply.body) > most_bytes:
            raise TooLarge(f"{request.host} answered more than {most_bytes} bytes")
        return reply

    def __call__(self, request: Request) -> Reply:
        self.requests.append(request)
        if request.host == TOKENS:
            return self._give_token(request)
        if self.troubles:
            return self.troubles.popleft()
        owner = self._tokens.get(request.headers.get("authorization", "")[7:])
        if owner is None:
            return error(401, "authError", "Invalid Credentials")
        found = _PATH.fullmatch(request.path)
        there = self.calendars.get(unquote(found[1])) if found else None
        if there is None or found is None:
            return error(404, "notFound", "Not Found")
        if owner not in self.shared_with:
            return error(403, "forbidden", "Forbidden")
        if found[2] is None:
            is_insert = request.method == "POST"
            return (
                self._insert(there, request)
                if is_insert
                else self._list(there, request)
            )
        return self._one(there, unquote(found[2]), request)

    def asked(self, **query: str) -> list[Request]:
        """Return the requests for entries whose query holds all of ``query``."""
        return [
            each
            for each in self.requests
            if each.host == API and query.items() <= each.query.items()
        ]

    def _give_token(self, request: Request) -> Reply:
        if self.token_troubles:
            return self.token_troubles.popleft()
        form = dict(parse_qsl(request.body.decode()))
        if form.get("grant_type") == "refresh_token":
            if form.get("client_secret") != "s1":
                return oauth_error("invalid_client", "Unauthorized", 401)
            if form.get("refresh_token") not in self.refresh_tokens:
                return oauth_error(
                    "invalid_grant", "Token has been expired or revoked."
                )
            return self._given(PERSON)
        if form.get("grant_type") != "urn:ietf:params:oauth:grant-type:jwt-bearer":
            return oauth_error("unsupported_grant_type", "Invalid grant_type")
        return self._by_assertion(form.get("assertion", ""))

    def _by_assertion(self, assertion: str) -> Reply:
        try:
            told = jwt.decode(
                assertion,
                _key_pair().public_key(),
                algorithms=["RS256"],
                audience=f"https://{TOKENS}/token",
                options={"require": ["iat", "exp", "iss", "scope"]},
            )
        except jwt.PyJWTError:
            return oauth_error("invalid_grant", "Invalid JWT Signature.")
        if told["iss"] not in self.accounts:
            return oauth_error("invalid_grant", "Invalid grant: account not found")
        if not set(told["scope"].split()) <= set(_SCOPES):
            return oauth_error("invalid_scope", "Some requested scopes were invalid.")
        if told["exp"] - told["iat"] > 3600:
            return oauth_error("invalid_grant", "Token must be a short-lived token")
        person = told.get("sub")
        if person and person not in self.delegated:
            return oauth_error("unauthorized_client", "Client is unauthorized", 401)
        return self._given(person or told["iss"])

    def _given(self, owner: str) -> Reply:
        token = self.token or f"ya29.{len(self._tokens)}.{owner}"
        self._tokens[token] = owner
        return Reply.of(
            {"access_token": token, "expires_in": 3599, "token_type": "Bearer"}
        )

    def _list(self, there: _Calendar, request: Request) -> Reply:
        query = request.query
        token = query.get("syncToken")
        if token and _NOT_WITH_TOKEN & query.keys():
            return error(400, "invalid", "Sync token cannot be used with filters")
        since = -1
        if token:
            told, _, kind = token.partition(".")
            if not told.isdigit() or kind != query.get("singleEvents", "false"):
                return error(400, "invalid", "Invalid sync token value.")
            since = int(told)
            if since < self.oldest_token:
                return error(410, "fullSyncRequired", "Sync token is no longer valid")
        names = sorted(there.events, key=lambda name: there.changed[name])
        found = [
            there.events[name]
            for name in names
            if there.changed[name] > since and _is_listed(there.events[name], query)
        ]
        return self._page(there, found, query)

    def _page(
        self, there: _Calendar, found: list[dict[str, Any]], query: dict[str, str]
    ) -> Reply:
        size = min(int(query.get("maxResults", 250)), 2500, self.page)
        first = int(query.get("pageToken", "0"))
        wanted = _wanted(query.get("fields", ""))
        told: dict[str, Any] = {
            "kind": "calendar#events",
            "accessRole": "freeBusyReader" if self.busy_only else "reader",
            "items": [_only(e, wanted) for e in found[first : first + size]],
        }
        if first + size < len(found):
            told["nextPageToken"] = str(first + size)
        else:
            kind = query.get("singleEvents", "false")
            told["nextSyncToken"] = f"{there.version}.{kind}"
        return Reply.of(told)

    def _insert(self, there: _Calendar, request: Request) -> Reply:
        event = request.document
        name = event.get("id") or f"made{there.version}"
        if not _ID.fullmatch(name):
            return error(400, "invalid", "Invalid resource id value.")
        if name in there.events:
            message = "The requested identifier already exists."
            return error(409, "duplicate", message)
        if not event.get("start") or not event.get("end"):
            return error(400, "required", "Missing end time.")
        return self._write(there, name, event)

    def _one(self, there: _Calendar, name: str, request: Request) -> Reply:
        event = there.events.get(name)
        if event is None:
            return error(404, "notFound", "Not Found")
        if request.method == "GET":
            return Reply.of(event)
        if event["status"] == "cancelled":
            return error(410, "deleted", "Resource has been deleted")
        wanted = request.headers.get("if-match")
        if wanted and wanted != event["etag"]:
            return error(412, "conditionNotMet", "Precondition Failed")
        document = request.document
        if request.method == "PATCH":
            document = _merged(event, document)
        return self._write(there, name, document)

    def _write(self, there: _Calendar, name: str, event: dict[str, Any]) -> Reply:
        self.written.append(name)
        self._note(there, name, _made(event, name))
        return Reply.of(there.events[name])


def error(status: int, reason: str, message: str, **headers: str) -> Reply:
    """Return a refusal of the Calendar API."""
    first = {"domain": "global", "reason": reason, "message": message}
    told = {"code": status, "message": message, "errors": [first]}
    return Reply.of({"error": told}, status, **headers)


def oauth_error(word: str, description: str, status: int = 400) -> Reply:
    """Return a refusal of the token endpoint (RFC 6749 5.2)."""
    return Reply.of({"error": word, "error_description": description}, status)


def _made(event: Mapping[str, Any], name: str) -> dict[str, Any]:
    link = f"https://www.google.com/calendar/event?eid={name}"
    return {**event, "id": name, "status": "confirmed", "htmlLink": link}


def _is_listed(event: Mapping[str, Any], query: Mapping[str, str]) -> bool:
    is_deleted = event["status"] == "cancelled"
    if is_deleted and "syncToken" not in query and "recurringEventId" not in event:
        return query.get("showDeleted") == "true"
    since = query.get("timeMin")
    if since is None or is_deleted or event.get("recurrence"):
        return True
    end = event["end"].get("dateTime") or f"{event['end']['date']}T00:00:00Z"
    when = datetime.fromisoformat(end)
    return when.tzinfo is None or when > datetime.fromisoformat(since)


def _wanted(fields: str) -> set[str] | None:
    found = re.search(r"items\((.*)\)", fields)
    return set(re.sub(r"\([^)]*\)", "", found[1]).split(",")) if found else None


def _only(event: Mapping[str, Any], wanted: set[str] | None) -> dict[str, Any]:
    return {k: v for k, v in event.items() if wanted is None or k in wanted}


def _merged(old: Mapping[str, Any], new: Mapping[str, Any]) -> dict[str, Any]:
    """Patch as Google does: tables are merged, null removes."""
    made = dict(old)
    for key, value in new.items():
        there = made.get(key)
        if value is None:
            made.pop(key, None)
        elif isinstance(value, dict) and isinstance(there, dict):
            made[key] = _merged(there, value)
        else:
            made[key] = value
    return made
