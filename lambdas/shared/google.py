"""Google's API: which forms a key may have, who must act on a wrong one; its words.

A *service account's* key is the file that Google's console gives once. A *person's
consent* is ``{"type": "authorized_user", "client_id", "client_secret",
"refresh_token"}``, which is what ``gcloud auth application-default login`` writes.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from lambdas.shared.errors import Misconfigured

SERVICE_ACCOUNT, AUTHORIZED_USER = "service_account", "authorized_user"
#: What the ``type`` of a key is; nothing else is a key of Google's to us.
KINDS = (SERVICE_ACCOUNT, AUTHORIZED_USER)

#: Where tokens are had. Whoever is asked for one gets the key's signature or secret.
TOKEN_ADDRESS = "https://oauth2.googleapis.com/token"  # noqa: S105 - an address
# What older files name; all of them are Google's, and we call the present one.
_KNOWN_ADDRESSES = (
    TOKEN_ADDRESS,
    "https://accounts.google.com/o/oauth2/token",
    "https://www.googleapis.com/oauth2/v4/token",
)

#: The reasons of a 403 that say "too fast", where others say 429; any other says "not
#: you" (developers.google.com/workspace/calendar, "Handle API errors").
TOO_FAST = frozenset(
    {
        "rateLimitExceeded",
        "userRateLimitExceeded",
        "quotaExceeded",
        "dailyLimitExceeded",
        "calendarUsageLimitsExceeded",
        "RATE_LIMIT_EXCEEDED",
    }
)

_WANTED = {
    SERVICE_ACCOUNT: ("client_email", "private_key"),
    AUTHORIZED_USER: ("client_id", "client_secret", "refresh_token"),
}
_FORMS = (
    "want a service account's key file, or"
    ' {"type": "authorized_user", "client_id", "client_secret", "refresh_token"}'
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Key:
    """A key that has all its parts; whether Google takes it, only Google knows.

    ``owner`` is whom a calendar is shared with, for messages.
    """

    kind: str
    owner: str
    values: Mapping[str, str] = field(repr=False)


def read_key(name: str, text: str) -> Key:
    """Read the key in the secret ``name``.

    Raises:
        Misconfigured: it is none. The message names the secret and quotes no value.
    """
    found = _object(name, text)
    kind = found.get("type")
    if kind not in KINDS:
        raise Misconfigured(f"secret {name}: {_why_none(found)}; {_FORMS}")
    values = {}
    for key in _WANTED[kind]:
        value = found.get(key)
        if not isinstance(value, str) or not value.strip():
            raise Misconfigured(f"secret {name}: {key!r}: want text that is not empty")
        values[key] = value.strip()
    if found.get("token_uri", TOKEN_ADDRESS) not in _KNOWN_ADDRESSES:
        raise Misconfigured(f"secret {name}: 'token_uri': want {TOKEN_ADDRESS}")
    if kind == AUTHORIZED_USER:
        owner = "the person whose refresh token it is"
        return Key(kind=kind, owner=owner, values=values)
    _check_pem(name, values["private_key"])
    values["private_key_id"] = str(found.get("private_key_id", ""))
    return Key(kind=kind, owner=values["client_email"], values=values)


def _object(name: str, text: str) -> Mapping[str, Any]:
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, dict):
        raise Misconfigured(f"secret {name} is no key of Google's; {_FORMS}")
    return found


def _why_none(found: Mapping[str, Any]) -> str:
    if "installed" in found or "web" in found:
        return "this is an OAuth client, to which nobody has consented yet"
    if "type" not in found:
        return "'type' is missing"
    return "'type' is none that is taken"


def _check_pem(name: str, key: str) -> None:
    if not key.startswith("-----BEGIN") or "PRIVATE KEY-----" not in key:
        raise Misconfigured(f"secret {name}: 'private_key': want a key in PEM")
    if "\n" not in key:
        raise Misconfigured(
            f"secret {name}: 'private_key' has lost its line ends: store the file as it"
            " is, by standard input"
        )
