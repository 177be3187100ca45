"""One HTTP call to another service, and what its outcome means for an effect.

Every effect here is made with it, and one of your own may be::

    call = outgoing.Call(downstream="tickets", method="POST", url=URL, body=body)
    return outgoing.send(call).value()

What must be told apart (see ``lambdas.shared.effects``)::

    RetryLater      surely not happened, may later: no connection, 408, 425, 429, 503
    GiveUp          surely not happened, never will: any other 4xx, 307, 308
    OutcomeUnknown  may have happened: sent and no whole answer, any other 5xx, 302

A 5xx is no promise that nothing happened: Stripe calls it indeterminate
(docs.stripe.com/error-low-level), Slack's ``fatal_error`` says that "some
aspect of the operation" may have succeeded, and GitHub has been seen to keep a
comment that it answered with 500 (probot/probot#921: posted four times). 503
and 429 are refusals (RFC 9110 15.6.4, RFC 6585 4). For a call that changes
nothing (``acts=False``) a passing failure is RetryLater and a refusal is
OutcomeUnknown: looking could not tell.
"""

from __future__ import annotations

import functools
import json
import logging
import time
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import Any
from urllib.parse import urljoin, urlsplit

import httpx

from lambdas.shared import clock
from lambdas.shared.effects import current_run
from lambdas.shared.errors import GiveUp, Misconfigured, OutcomeUnknown, RetryLater
from lambdas.shared.outside import address
from lambdas.shared.waiting import retry_after

_CONNECT_SECONDS = 5.0
_WHOLE_SECONDS = 25.0
# Left for the worker to write down the outcome before the run's deadline.
_MARGIN_SECONDS = 1.0
_LEAST_SECONDS = 0.5

# 100 GitHub comments of 65,536 characters fit; what is larger is not an answer.
LARGEST_ANSWER_BYTES = 8_000_000

_LONGEST_MESSAGE = 300
_REFUSED_FOR_NOW = frozenset({408, 425, 429, 503})
_MOST_REDIRECTS = 3
# "Look there for the result" is how many services end a POST (RFC 9110 15.4.4).
_SEEN_TO = frozenset({301, 302, 303})

# Their lines carry whole URLs, and an incoming-webhook URL is a secret.
logging.getLogger("httpx").setLevel(logging.WARNING)
logging.getLogger("httpcore").setLevel(logging.WARNING)


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """One call; ``token`` is kept out of every message about it."""

    downstream: str
    method: str
    url: str
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    body: bytes = field(default=b"", repr=False)
    token: str = field(default="", repr=False)
    acts: bool = True

    def redacted(self, text: str) -> str:
        """Return ``text`` on one line, cut, without the token."""
        if self.token:
            text = text.replace(self.token, "***")
        return " ".join(text.split())[:_LONGEST_MESSAGE]

    def unknown(
        self, why: str, after: timedelta | None = None
    ) -> OutcomeUnknown | RetryLater:
        """Return the error for a call that was sent and whose outcome was not told."""
        kind = OutcomeUnknown if self.acts else RetryLater
        return kind(self._says(why), after=after, downstream=self.downstream)

    def refused(self, why: str) -> GiveUp | OutcomeUnknown:
        """Return the error for a call that the other side will never take."""
        kind = GiveUp if self.acts else OutcomeUnknown
        return kind(self._says(why), downstream=self.downstream)

    def later(self, why: str, after: timedelta | None = None) -> RetryLater:
        """Return the error for a call that surely did nothing, but may later."""
        return RetryLater(self._says(why), after=after, downstream=self.downstream)

    def _says(self, why: str) -> str:
        return self.redacted(f"{self.downstream} {why}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What came back, whatever its status."""

    call: Call
    status: int
    headers: Mapping[str, str]
    body: bytes = field(repr=False)
    whole: bool = True

    @property
    def after(self) -> timedelta | None:
        """How long ``Retry-After`` asks to wait, within what a message can wait."""
        return retry_after(self.headers.get("retry-after"))

    @property
    def message(self) -> str:
        """The service's own words for its refusal, or its media type."""
        found = _words(self.json())
        if found:
            return self.call.redacted(found)
        media_type = self.headers.get("content-type", "").partition(";")[0]
        return f"no message, {media_type or 'no media type'}"

    def checked(self) -> Answer:
        """Return itself when 2xx.

        Raises:
            RetryLater, GiveUp, OutcomeUnknown: as the module says.
        """
        if 200 <= self.status < 300:
            return self
        why = f"answered {self.status}: {self.message}"
        if self.status in _REFUSED_FOR_NOW:
            raise self.call.later(why, self.after)
        if self.status >= 500 or self.status in _SEEN_TO:
            raise self.call.unknown(why, self.after)
        raise self.call.refused(why)

    def value(self) -> Any:
        """Return the JSON of a 2xx answer.

        Raises:
            OutcomeUnknown: the answer is no JSON or was cut (a proxy's page).
        """
        decoded = self.checked().json()
        if decoded is None:
            raise self.call.unknown(f"answered {self.status} without readable JSON")
        return decoded

    def json(self) -> Any:
        """Return the body as JSON, whatever the status; None when it is none."""
        if not self.whole:
            return None
        try:
            return json.loads(self.body)
        except (ValueError, RecursionError):
            return None


def send(call: Call) -> Answer:
    """Make ``call`` within the run's deadline; return whatever was answered.

    Redirects are followed to the same host only, and only where the first
    request was not acted on (307, 308; for a look also 301, 302).

    Raises:
        RetryLater: nothing was sent.
        GiveUp: it can never be sent (a URL that is none, another host).
        OutcomeUnknown: it was sent, and no whole answer came.
    """
    for _ in range(_MOST_REDIRECTS + 1):
        answer = _send_once(call)
        followed = {307, 308} if call.acts else {301, 302, 307, 308}
        location = answer.headers.get("location")
        if answer.status not in followed or not location:
            return answer
        there = urljoin(call.url, location)
        if urlsplit(there)[:2] != urlsplit(call.url)[:2]:
            raise call.refused(f"answered {answer.status}: redirects to another host")
        call = replace(call, url=there)
    raise call.refused("redirects without end")


def token(name: str) -> str:
    """Return the secret ``name`` of the current run, fit for a header.

    Raises:
        Misconfigured: it holds what no header can carry.
    """
    value = current_run().secret(name).strip()
    if not value or not value.isascii() or not value.isprintable():
        raise Misconfigured(f"secret {name}: want a token of printable ASCII")
    return value


@functools.cache
def _client() -> httpx.Client:
    """Return the process's client; its TLS context alone takes 20 ms to make.

    No connection is kept: one that the other side closed while the sandbox
    slept breaks after sending, and would put an effect in doubt for nothing.
    The environment is not trusted: ~/.netrc would replace the token.
    """
    return httpx.Client(
        trust_env=False,
        follow_redirects=False,
        limits=httpx.Limits(max_keepalive_connections=0),
        headers={"user-agent": "bellhop", "accept-encoding": "identity"},
    )


def _send_once(call: Call) -> Answer:
    seconds = seconds_left(call)
    connect = min(_CONNECT_SECONDS, seconds / 2)
    limits = httpx.Timeout(seconds - connect, connect=connect)
    ends = time.monotonic() + seconds
    try:
        # Not "from": the cause would hold the request, and so the token.
        with _client().stream(
            call.method,
            address(call.url),
            headers=dict(call.headers),
            content=call.body or None,
            timeout=limits,
        ) as response:
            return _read(call, response, ends)
    except (httpx.InvalidURL, httpx.UnsupportedProtocol, httpx.LocalProtocolError):
        raise call.refused("cannot be called: not a URL or header of HTTP") from None
    except (httpx.ConnectError, httpx.ConnectTimeout, httpx.ProxyError) as error:
        raise call.later(f"could not be reached: {type(error).__name__}") from None
    except httpx.RequestError as error:
        raise call.unknown(f"broke off: {type(error).__name__}") from None


def seconds_left(call: Call) -> float:
    """Return how long ``call`` may take; raises RetryLater if the run is ending."""
    left = (current_run().deadline - clock.now()).total_seconds() - _MARGIN_SECONDS
    if left < _LEAST_SECONDS:
        raise call.later("was not called: the run is about to end")
    return min(left, _WHOLE_SECONDS)


def _read(call: Call, response: httpx.Response, ends: float) -> Answer:
    parts: list[bytes] = []
    size = 0
    for part in response.iter_raw():
        parts.append(part)
        size += len(part)
        if size > LARGEST_ANSWER_BYTES:
            break
        if time.monotonic() > ends:
            raise call.unknown(f"answered {response.status_code} too slowly")
    return Answer(
        call=call,
        status=response.status_code,
        headers={name.lower(): value for name, value in response.headers.items()},
        body=b"".join(parts)[:LARGEST_ANSWER_BYTES],
        whole=size <= LARGEST_ANSWER_BYTES,
    )


def _words(decoded: Any) -> str:
    """Find the message in the shapes in use: GitHub, Stripe, Slack, OAuth, RFC 9457."""
    if not isinstance(decoded, dict):
        return ""
    error = decoded.get("error")
    if isinstance(error, dict):
        return _words(error)
    for key in ("message", "error_description", "detail", "title"):
        if isinstance(decoded.get(key), str):
            return str(decoded[key])
    return error if isinstance(error, str) else ""
