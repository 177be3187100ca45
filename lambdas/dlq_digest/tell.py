"""Brings a digest to its readers: Slack, and a topic for mail. Nothing is lost.

Whatever is refused for good is said in a plainer form, then by the other way,
and at last by failing: Lambda repeats the call, and keeps it when all repeats fail.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from lambdas.shared.errors import BellhopError, Misconfigured, Unavailable
from lambdas.shared.observe import count, logger

_API = "https://slack.com/api/chat.postMessage"
_TRIES = 4
# Slack asks for a minute at most; longer, and Lambda's own repeats are cheaper.
_LONGEST_WAIT_SECONDS = 60

# What Slack dislikes in the message itself: plain text may still pass.
_FORM_FAULTS = (
    *("invalid_blocks", "invalid_blocks_format", "invalid_payload", "msg_too_long"),
    *("msg_blocks_too_long", "too_many_attachments", "invalid_attachments"),
)
_PASSING_FAULTS = frozenset(
    {
        *("ratelimited", "rate_limited", "service_unavailable", "internal_error"),
        *("fatal_error", "request_timeout", "rollup_error"),
    }
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What a service answered; header names are in lower case."""

    status: int
    body: bytes
    headers: Mapping[str, str]


class Post(Protocol):
    """Makes one POST; the adapter is ``lambdas.shared.adapters.post.post``."""

    def __call__(self, url: str, body: bytes, headers: Mapping[str, str]) -> Answer:
        """Return the answer, whatever its status. Raises Unavailable."""
        ...


class Mail(Protocol):
    """Tells everybody who asked for mail."""

    def send(self, subject: str, text: str) -> None:
        """Send it. Raises Unavailable, Misconfigured."""
        ...


@dataclass(frozen=True, slots=True)
class Slack:
    """One channel, by an incoming webhook or a bot's token."""

    post: Post
    sleep: Callable[[float], None]
    secret_of: Callable[[], str]
    channel: str | None

    def send(self, message: Mapping[str, Any]) -> None:
        """Send ``message``; without its blocks where Slack refuses them.

        Raises:
            Unavailable: Slack did not take it in several tries.
            Misconfigured: it never will: no secret, no such channel, no right.
        """
        try:
            self._send(message)
        except FormRefused as refused:
            logger.error("slack refuses the form of the digest", reason=str(refused))
            count("DigestRefused")
            text = str(message["text"])
            try:
                self._send({"text": text})
            except FormRefused as again:
                raise Misconfigured(f"Slack refuses the digest: {again}") from again

    def _send(self, message: Mapping[str, Any]) -> None:
        url, headers, more = self._way(self.secret_of().strip())
        body = json.dumps({**message, **more}).encode()
        why = ""
        for attempt in range(_TRIES):
            if attempt:
                self.sleep(min(2**attempt, _LONGEST_WAIT_SECONDS))
            try:
                answer = self.post(url, body, headers)
            except Unavailable as error:
                why = str(error)
                continue
            fault = fault_of(answer)
            if fault is None:
                return
            why = f"Slack answered {answer.status}: {fault}"
            if answer.status == 429:
                self.sleep(_asked_for(answer))
            elif answer.status < 500 and fault not in _PASSING_FAULTS:
                raise refusal(fault)
        raise Unavailable(why)

    def _way(self, secret: str) -> tuple[str, dict[str, str], dict[str, str]]:
        headers = {"content-type": "application/json; charset=utf-8"}
        if secret.startswith("https://"):
            return secret, headers, {}
        if not secret.startswith("xox"):
            raise Misconfigured(
                "the digest's secret is neither an incoming webhook (https://...) nor"
                " a bot's token (xoxb-...)"
            )
        if not self.channel:
            raise Misconfigured("fleet.toml: digest.channel: want the bot's channel")
        headers["authorization"] = f"Bearer {secret}"
        return _API, headers, {"channel": self.channel}


class FormRefused(BellhopError):
    """Slack dislikes the message itself."""


def fault_of(answer: Answer) -> str | None:
    """Return Slack's word for what is wrong; ``None`` when it took the message.

    A webhook answers 200 ``ok`` in plain text, the API 200 with ``"ok": false``.
    """
    text = answer.body.decode("utf-8", "replace").strip()
    try:
        value = json.loads(text)
    except ValueError:
        value = None
    if isinstance(value, dict):
        if answer.status == 200 and value.get("ok", True):
            return None
        return str(value.get("error") or answer.status)
    return None if answer.status == 200 else text[:200] or str(answer.status)


def refusal(fault: str) -> FormRefused | Misconfigured:
    """Return what a refusal for good means."""
    if fault.startswith(_FORM_FAULTS):
        return FormRefused(fault)
    return Misconfigured(f"Slack refuses the digest: {fault}")


def _asked_for(answer: Answer) -> float:
    try:
        seconds = math.ceil(float(answer.headers.get("retry-after", "1")))
    except (ValueError, OverflowError):
        seconds = 1
    return min(max(seconds, 1), _LONGEST_WAIT_SECONDS)


@dataclass(frozen=True, slots=True)
class Teller:
    """Tells by every way that is there; one that works is enough.

    A broken Slack is said in the mail, too.
    """

    slack: Slack
    mail: Mail | None

    def tell(self, subject: str, text: str, message: Mapping[str, Any]) -> None:
        """Tell it.

        Raises:
            Unavailable, Misconfigured: Slack did not take it, whatever became of
                the mail: somebody must see that, and Lambda's repeat may mend it.
        """
        broken: BellhopError | None = None
        try:
            self.slack.send(message)
        except BellhopError as error:
            broken = error
            count("DigestFailed")
            logger.error("digest not told", reason=str(error))
            text = f"Slack did not take this: {error}\n\n{text}"
        if self.mail is not None:
            self.mail.send(subject, text)
        if broken is not None:
            raise broken
