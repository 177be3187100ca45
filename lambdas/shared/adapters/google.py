"""Access tokens for Google's API, had by Google's own library over our way out.

The library signs and reads; it is given no way to call anything but the one address
where tokens are had.
"""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from lambdas.shared.adapters import https
from lambdas.shared.blackened import blackened
from lambdas.shared.errors import Misconfigured, Unavailable
from lambdas.shared.google import SERVICE_ACCOUNT, TOKEN_ADDRESS, Key
from lambdas.shared.waiting import retry_after

if TYPE_CHECKING:
    from google.auth.exceptions import GoogleAuthError, RefreshError

# A token has 1 or 2 KB.
_MOST_BYTES = 64 * 1024
_LONGEST_TOKEN = 16 * 1024
_LONGEST_MESSAGE = 200
# How long Google's tokens are good (developers.google.com/identity/protocols/oauth2);
# one that says otherwise is not remembered for longer.
_USUAL_SECONDS = 3600

# What the owner of a key must do, by Google's word for the refusal.
_ADVICE: Mapping[str, str] = {
    "invalid_client": "the OAuth client was deleted or its secret changed: make a new"
    " refresh token",
    "deleted_client": "the OAuth client was deleted: make a new refresh token",
    "unauthorized_client": "the key may not act for others: an administrator of the"
    " domain must allow its client id the scope {scope}, or leave act_as out",
    "access_denied": "an administrator of the domain forbids it",
    "invalid_scope": "consent again, to the scope {scope}",
    "admin_policy_enforced": "an administrator of the domain forbids it",
}
_REVOKED = {
    True: "the key was deleted, or its service account: make a new key",
    False: "the refresh token has expired or was revoked: consent again (one of an"
    " OAuth app in testing lives 7 days)",
}


class Tokens:
    """Tokens by key and scope, each remembered until shortly before it ends."""

    def __init__(self, exchange: Callable[..., https.Answer] = https.exchange) -> None:
        """Call through ``exchange``."""
        self._exchange = exchange
        self._known: dict[str, Any] = {}

    def get(
        self,
        key: Key,
        scope: str,
        *,
        act_as: str | None = None,
        seconds: float,
        anew: bool = False,
    ) -> str:
        """Return a token that is good now; ``anew``, the remembered one was refused.

        Raises:
            Misconfigured: Google refuses the key; the message says who must act.
            Unavailable: it did not answer within ``seconds``.
        """
        from google.auth.exceptions import GoogleAuthError, RefreshError

        name = _name(key, scope, act_as)
        try:
            credentials = self._known.get(name) or _credentials(key, scope, act_as)
            if anew or not credentials.valid:
                credentials.refresh(_Transport(self._exchange, seconds))
        except RefreshError as error:
            # Not "from": what the library raises may quote the assertion.
            raise _refused(error, key, scope) from None
        except (GoogleAuthError, ValueError) as error:
            raise Misconfigured(f"Google's key: {_sentence(error)}") from None
        self._known[name] = credentials
        return str(credentials.token)

    def remembers(self, key: Key, scope: str, act_as: str | None = None) -> bool:
        """Tell whether :meth:`get` would answer without a call."""
        known = self._known.get(_name(key, scope, act_as))
        return known is not None and bool(known.valid)

    def forget(self) -> None:
        """Forget every token."""
        self._known.clear()


def _name(key: Key, scope: str, act_as: str | None) -> str:
    told = json.dumps([dict(key.values), scope, act_as], sort_keys=True)
    return hashlib.sha256(told.encode()).hexdigest()


def _credentials(key: Key, scope: str, act_as: str | None) -> Any:
    info = {**key.values, "token_uri": TOKEN_ADDRESS}
    if key.kind == SERVICE_ACCOUNT:
        from google.oauth2 import service_account

        return service_account.Credentials.from_service_account_info(  # type: ignore[no-untyped-call]
            info, scopes=[scope], subject=act_as
        )
    if act_as:
        raise Misconfigured("act_as: only a service account's key may act for others")
    from google.oauth2 import credentials

    # Without scopes: those that were consented to.
    return credentials.Credentials(  # type: ignore[no-untyped-call]
        None,
        refresh_token=info["refresh_token"],
        token_uri=TOKEN_ADDRESS,
        client_id=info["client_id"],
        client_secret=info["client_secret"],
    )


@dataclass(frozen=True, slots=True)
class _Response:
    status: int
    headers: Mapping[str, str]
    data: bytes


class _Transport:
    """What the library calls instead of ``google.auth.transport.Request``.

    A failure that may pass is raised here, so that the library does not sleep and
    repeat by itself: how often and how long is its caller's affair.
    """

    def __init__(self, exchange: Callable[..., https.Answer], seconds: float) -> None:
        self._exchange = exchange
        self._ends = time.monotonic() + seconds

    def __call__(
        self,
        url: str,
        method: str = "GET",
        body: bytes | None = None,
        headers: Mapping[str, str] | None = None,
        **_: Any,
    ) -> _Response:
        if url != TOKEN_ADDRESS:
            raise Misconfigured("Google's library wants to call another address")
        answer = self._exchange(
            url,
            method=method,
            headers=dict(headers or {}),
            body=body,
            most_bytes=_MOST_BYTES,
            timeout_seconds=max(self._ends - time.monotonic(), 0.1),
        )
        if answer.status in (408, 429) or answer.status >= 500:
            raise Unavailable(
                f"oauth2.googleapis.com answered {answer.status}",
                after=retry_after(answer.headers.get("retry-after")),
            )
        told = _told(answer)
        return _Response(answer.status, answer.headers, json.dumps(told).encode())


def _told(answer: https.Answer) -> dict[str, Any]:
    """Return what the library may read: only of what was asked for, and well-formed.

    Raises:
        Unavailable: it is no answer of Google's, but of something on the way.
    """
    try:
        told = json.loads(answer.body)
    except (ValueError, RecursionError):
        told = None
    if not isinstance(told, dict):
        raise Unavailable("oauth2.googleapis.com answered something else than JSON")
    if answer.status != 200:
        words = {name: told.get(name) for name in ("error", "error_description")}
        return {name: word for name, word in words.items() if isinstance(word, str)}
    token, seconds = told.get("access_token"), told.get("expires_in")
    is_token = isinstance(token, str) and token.isascii() and token.isprintable()
    if not token or not is_token or len(token) > _LONGEST_TOKEN:
        raise Unavailable("oauth2.googleapis.com answered something else than a token")
    if isinstance(seconds, bool) or not isinstance(seconds, int) or seconds < 0:
        seconds = _USUAL_SECONDS
    return {"access_token": token, "expires_in": min(seconds, _USUAL_SECONDS)}


def _refused(error: RefreshError, key: Key, scope: str) -> Misconfigured | Unavailable:
    said = error.args[1] if len(error.args) > 1 else None
    if not isinstance(said, dict):
        return Unavailable("oauth2.googleapis.com answered something else than JSON")
    word = str(said.get("error", ""))
    details = _cut(str(said.get("error_description", "")) or word)
    is_account = key.kind == SERVICE_ACCOUNT
    if word == "invalid_grant":
        advice = _REVOKED[is_account]
        if is_account and "iat" in details:
            advice = "this machine's clock is wrong"
        if is_account and "email" in details.lower():
            advice = "there is nobody of the name in act_as"
    else:
        advice = _ADVICE.get(word, "see what Google says").format(scope=scope)
    return Misconfigured(f"Google refuses the key ({word}: {details}): {advice}")


def _cut(text: str) -> str:
    return blackened(" ".join(text.split()))[:_LONGEST_MESSAGE]


def _sentence(error: GoogleAuthError | ValueError) -> str:
    # The message may hold the key itself.
    return f"the private key cannot be read ({type(error).__name__})"
