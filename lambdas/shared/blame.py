"""Whose fault a failure looks like, in the words of the digest. Pure, from words.

The order of the rules is the meaning: a limit is a limit whatever status it came
with, and what the agent's own code did wrong is said only when nothing else fits.
"""

from __future__ import annotations

import re
from enum import StrEnum


class Blame(StrEnum):
    """What kind of fault it is, so that a reader knows where to look."""

    DOWNSTREAM_UNAVAILABLE = "downstream_unavailable"
    DOWNSTREAM_REJECTED = "downstream_rejected"
    RATE_LIMITED = "rate_limited"
    AUTH = "auth"
    BAD_PAYLOAD = "bad_payload"
    AGENT_BUG = "agent_bug"
    TIMEOUT = "timeout"
    OUT_OF_MEMORY = "out_of_memory"
    UNDELIVERABLE = "undeliverable"


_STATUS = re.compile(
    r"(?i:(?<![a-z])(?:code|status(?:[ _]code)?|http(?:\w*error)?(?:/\d(?:\.\d)?)?)"
    r"(?:['\"]?: ?|[=\s]\s*)['\"]?)([1-5]\d\d)(?!\d)"
    r"|(?<![\w.#-])([1-5]\d\d)(?= [A-Z{]|, b?['\"]|:? \{|, message)"
    r"|\b(?:answered|returned|refused with|got) ([1-5]\d\d)\b"
)


def _any(*words: str) -> re.Pattern[str]:
    return re.compile("|".join(words), re.IGNORECASE)


_MEMORY = _any(
    *(r"signal: killed", r"SIGKILL", r"out ?of ?memory", r"\bMemoryError\b"),
    *(r"cannot allocate memory", r"exit(?: code| status)?:? 137", r"\bOOM\b"),
)
_LIMIT = _any(
    *(r"rate.?limit", r"throttl", r"too ?many ?requests", r"throughput ?exceeded"),
    *(r"quota (?:exceeded|exhausted)", r"exceeded your current quota", r"slow ?down"),
    *(r"limit ?exceeded", r"requests per (?:second|minute|hour|day)", r"usage limit"),
    *(r"resource.?exhausted", r"provisioned throughput"),
)
_TIMEOUT = _any(r"time[ds]? ?out", r"deadline.?exceeded", r"took too long")
_AUTH = _any(
    *(r"access ?denied", r"unauthori[sz]ed", r"not authori[sz]ed", r"forbidden"),
    r"invalid.?(?:auth|api.?key|token|credentials|client|grant|signature|access)",
    *(
        r"authenticat(?:ion|e|or)",
        r"permission ?denied",
        r"(?:api key|token) \w*expired",
    ),
    *(r"expired.?token", r"(?:not_authed|token_revoked|missing_scope|no_permission)"),
    *(r"incorrect api key", r"bad credentials", r"no (?:aws )?credentials"),
    *(r"unrecognizedclient", r"signaturedoesnotmatch", r"account_inactive"),
    *(r"secret \S+ (?:cannot|is)", r"does not list '"),
)
_GONE = _any(
    *(r"channel_not_found", r"is_archived", r"not_in_channel", r"user_not_found"),
    *(r"recipient", r"mailbox", r"user unknown", r"no such user", r"\b410\b.{0,9}gone"),
    *(r"unsubscribed", r"no longer (?:exists|available|subscribed)", r"unregistered"),
    *(r"undeliverable", r"bounced", r"address rejected", r"cannot_dm_bot"),
    *(r"too old to run safely", r"the ledger does not hold this event"),
)
_DOWN = _any(
    *(r"connection ?(?:refused|reset|aborted|error|closed|broken)", r"unreachable"),
    *(r"could not connect", r"cannot connect", r"failed to establish", r"overloaded"),
    *(r"service ?unavailable", r"bad gateway", r"internal ?(?:server|service)? ?error"),
    *(r"name or service not known", r"name resolution", r"getaddrinfo", r"broken pipe"),
    *(r"certificate", r"\bssl", r"server disconnected", r"remote end closed"),
    *(r"database is locked", r"too many (?:connections|clients)", r"connecting to"),
    *(r"server closed the connection", r"is (?:down|not available)", r"maintenance"),
    *(r"unexpectedly closed", r"serverdisconnected", r"lost connection"),
    *(r"did not (?:answer|take)", r"was not reached", r"could not be reached"),
    *(r"broke off", r"no route to host", r"network is", r"incomplete ?read"),
    *(r"connection (?:attempt )?failed", r"temporarily", r"no answer", r"not ready"),
)
# Said by the other side, about how it was asked.
_ASKED_WRONGLY = _any(
    *(r"missing the key", r"no such (?:column|table)", r"syntax error"),
    *(r"parameter validation failed", r"paramvalidation", r"undefined(?:column|table)"),
    *(r"unknown (?:parameter|field|argument)", r"does not exist at character"),
    *(r"(?:column|relation|table) \"?[\w.]+\"? does not exist", r"unsupported method"),
)
_PAYLOAD_TYPES = _any(
    *(r"jsondecodeerror", r"unicode(?:de|en)codeerror", r"validationerror"),
    *(r"invalidoperation", r"binascii", r"expaterror", r"parseerror", r"badzipfile"),
    *(r"schemaerror", r"dateparse", r"parsererror", r"csv\.error", r"tomldecode"),
    *(r"xmlsyntax", r"yaml", r"unpicklingerror", r"decodeerror"),
)
_PAYLOAD = _any(
    *(r"invalid literal for", r"could not convert", r"does not match format"),
    *(r"invalid isoformat", r"unconverted data", r"is not (?:a )?valid", r"not JSON"),
    *(r"day is out of range", r"month must be in", r"badly formed", r"cannot parse"),
    *(r"field required", r"is a required property", r"unexpected end of", r"malformed"),
    *(r"incorrect padding", r"unable to parse", r"expecting value", r"no event"),
    *(r"unknown format", r"isn't a valid", r"invalid (?:date|time|uuid|number|email)"),
)
_REMOTE_PACKAGES = re.compile(
    r"^(?:requests|httpx|httpcore|urllib3|aiohttp|http\.client|urllib\.error|botocore|"
    r"boto3|grpc|socket|ssl|websockets)\b"
)


def blame(exception_type: str, message: str, downstream: str | None = None) -> Blame:
    """Return whose fault it looks like.

    ``exception_type`` is ``module.Class``, or the class alone; ``downstream`` is
    the other side, where one is known.
    """
    words = f"{exception_type}: {message}"
    status = _status(message)
    is_payload = _PAYLOAD_TYPES.search(exception_type) and "botocore" not in words
    for kind, holds in (
        (Blame.OUT_OF_MEMORY, _MEMORY.search(words)),
        (Blame.BAD_PAYLOAD, is_payload),
        (Blame.RATE_LIMITED, status == 429 or _LIMIT.search(words)),
        (Blame.TIMEOUT, status is None and _TIMEOUT.search(words)),
        (Blame.UNDELIVERABLE, status == 410 or _GONE.search(words)),
        (Blame.AUTH, status in {401, 403, 407} or _AUTH.search(words)),
        (Blame.DOWNSTREAM_UNAVAILABLE, status is not None and status >= 500),
        (Blame.AGENT_BUG, _ASKED_WRONGLY.search(words)),
        (Blame.DOWNSTREAM_UNAVAILABLE, status is None and _DOWN.search(words)),
        (Blame.DOWNSTREAM_REJECTED, status is not None),
        (Blame.BAD_PAYLOAD, _PAYLOAD.search(words) and downstream is None),
        (Blame.DOWNSTREAM_REJECTED, downstream or _REMOTE_PACKAGES.match(words)),
    ):
        if holds:
            return kind
    return Blame.AGENT_BUG


def _status(message: str) -> int | None:
    found = _STATUS.search(message)
    return int(next(filter(None, found.groups()))) if found else None


# The worker's words for work that did not end in its time.
_TOO_SLOW = frozenset({"too_long", "stalled", "interrupted"})


def fault(
    category: str, exception_type: str, message: str, downstream: str | None
) -> Blame:
    """Return the fault of a run; ``category`` is the worker's word for its end.

    The words decide; where they say nothing, what the agent raised on purpose
    is not taken for a bug of its own.
    """
    if category == "too_old":
        return Blame.UNDELIVERABLE
    if category in _TOO_SLOW:
        return Blame.TIMEOUT
    on_purpose = category in {"passing", "unavailable", "in_doubt", "gave_up"}
    found = blame(exception_type, message, None if on_purpose else downstream)
    if found is not Blame.AGENT_BUG or _ASKED_WRONGLY.search(message):
        return found
    match category:
        case "passing" | "unavailable" | "in_doubt":
            return Blame.DOWNSTREAM_UNAVAILABLE
        case "gave_up":
            return Blame.DOWNSTREAM_REJECTED if downstream else Blame.BAD_PAYLOAD
        case "setup" if "cannot be loaded" not in message:
            return Blame.AUTH
        case _:
            return Blame.AGENT_BUG
