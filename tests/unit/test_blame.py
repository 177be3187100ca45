"""Whose fault a failure looks like, from its words, and the captured failures."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

import pytest

from lambdas.shared import hosts
from lambdas.shared.blame import Blame, blame, fault
from lambdas.shared.fingerprint import frames_of, of_words


@pytest.mark.parametrize(
    ("kind", "message", "wanted"),
    [
        ("urllib.error.HTTPError", "HTTP Error 503: Service Unavailable", "down"),
        ("aiohttp.ClientResponseError", "502, message='Bad Gateway'", "down"),
        ("ConnectionResetError", "[Errno 104] Connection reset by peer", "down"),
        ("socket.gaierror", "[Errno -2] Name or service not known", "down"),
        ("pymysql.err.OperationalError", "(1040, 'Too many connections')", "down"),
        ("openai.APITimeoutError", "Request timed out.", "timeout"),
        ("TimeoutError", "the read operation timed out", "timeout"),
        ("notion_client.errors.APIResponseError", "rate_limited", "limit"),
        (
            "googleapiclient.errors.HttpError",
            "<HttpError 429 when requesting>",
            "limit",
        ),
        ("botocore.exceptions.ClientError", "An error occurred (SlowDown)", "limit"),
        ("gitlab.exceptions.GitlabAuthenticationError", "401: Unauthorized", "auth"),
        ("botocore.exceptions.NoCredentialsError", "Unable: no credentials", "auth"),
        ("smtplib.SMTPRecipientsRefused", "{'a@b.example': (550, b'no')}", "gone"),
        ("slack_sdk.errors.SlackApiError", "{'error': 'is_archived'}", "gone"),
        ("MemoryError", "", "memory"),
        ("subprocess.CalledProcessError", "died with <Signals.SIGKILL: 9>", "memory"),
        ("json.decoder.JSONDecodeError", "Expecting value: line 1", "payload"),
        ("ValueError", "could not convert string to float: 'x'", "payload"),
        ("KeyError", "'id'", "bug"),
        ("TypeError", "unsupported operand type(s) for +: 'int' and 'str'", "bug"),
        ("psycopg.errors.UndefinedColumn", 'column "x" does not exist', "bug"),
        ("requests.exceptions.HTTPError", "404 Client Error: Not Found", "rejected"),
        ("stripe.CardError", "Request req_1: Your card was declined.", "rejected"),
    ],
)
def test_words_say_whose_fault_it_looks_like(
    kind: str, message: str, wanted: str
) -> None:
    names = {
        "down": Blame.DOWNSTREAM_UNAVAILABLE,
        "timeout": Blame.TIMEOUT,
        "limit": Blame.RATE_LIMITED,
        "auth": Blame.AUTH,
        "gone": Blame.UNDELIVERABLE,
        "memory": Blame.OUT_OF_MEMORY,
        "payload": Blame.BAD_PAYLOAD,
        "bug": Blame.AGENT_BUG,
        "rejected": Blame.DOWNSTREAM_REJECTED,
    }

    assert blame(kind, message, hosts.told(kind, message)) is names[wanted]


@pytest.mark.parametrize(
    ("category", "message", "downstream", "wanted"),
    [
        ("passing", "come again", "crm", Blame.DOWNSTREAM_UNAVAILABLE),
        ("gave_up", "issue is locked", "github", Blame.DOWNSTREAM_REJECTED),
        ("gave_up", "nothing to do", None, Blame.BAD_PAYLOAD),
        ("too_old", "too old to run safely", None, Blame.UNDELIVERABLE),
        ("setup", "agents.x:run cannot be loaded: no", None, Blame.AGENT_BUG),
        ("setup", "secret bellhop/x cannot be fetched", None, Blame.AUTH),
        ("crash", "2", None, Blame.AGENT_BUG),
    ],
)
def test_what_an_agent_says_on_purpose_is_no_bug(
    category: str, message: str, downstream: str | None, wanted: Blame
) -> None:
    assert fault(category, "lambdas.shared.errors.X", message, downstream) is wanted


@pytest.mark.parametrize(
    ("kind", "message", "wanted"),
    [
        (
            "requests.exceptions.ConnectionError",
            "HTTPSConnectionPool(host='a.portal.example.com', port=443): refused",
            "portal.example.com",
        ),
        (
            "httpx.HTTPStatusError",
            "Client error '410 Gone' for url 'https://x.hooks.example.com/cb/1'\n"
            "For more information check: https://developer.mozilla.org/x",
            "hooks.example.com",
        ),
        (
            "botocore.exceptions.ClientError",
            "when calling the PutItem operation",
            "dynamodb",
        ),
        ("botocore.exceptions.ClientError", "to perform: s3:GetObject on", "s3"),
        (
            "botocore.exceptions.EndpointConnectionError",
            'Could not connect to: "https://sqs.eu-west-1.amazonaws.com/"',
            "sqs",
        ),
        ("slack_sdk.errors.SlackApiError", "failed", "slack"),
        ("stripe._error.CardError", "declined", "stripe"),
        ("acme_sdk.errors.Refused", "no", "acme"),
        ("KeyError", "'id'", None),
        ("ValueError", "see handler.py", None),
    ],
)
def test_words_name_the_other_side(kind: str, message: str, wanted: str | None) -> None:
    assert hosts.told(kind, message) == wanted


class Refused(Exception):
    """What boto3 raises says nothing of its service."""

    __module__ = "botocore.errorfactory"


def test_service_is_named_by_whoever_raised_it_when_its_words_do_not() -> None:
    class Meta:
        service_model = type("Model", (), {"service_name": "bedrock-runtime"})

    class Client:
        meta = Meta

        def _make_api_call(self) -> None:
            raise Refused("?")

    with pytest.raises(Refused) as caught:
        Client()._make_api_call()

    assert hosts.downstream(caught.value, "?") == "bedrock"


@pytest.mark.real_data
def test_captured_failures_fall_into_groups_as_people_labelled_them(
    fixtures: Path,
) -> None:
    text = (fixtures / "errors/errors.json").read_text(encoding="utf-8")
    entries = json.loads(text)
    groups: Counter[str] = Counter()
    causes: Counter[str] = Counter()
    both: Counter[tuple[str, str]] = Counter()
    kinds = 0
    for entry in entries:
        kind, message = entry["exception_type"], entry["message"]
        group = of_words(kind, message, frames_of(entry["traceback"]))
        groups[group] += 1
        causes[entry["cause"]] += 1
        both[group, entry["cause"]] += 1
        found = blame(kind, message, hosts.told(kind, message))
        kinds += found == entry["category"]

    together = pairs(both.values())
    assert together / pairs(groups.values()) >= 0.98
    assert together / pairs(causes.values()) >= 0.98
    assert kinds >= 0.98 * len(entries)


def pairs(sizes: Iterable[int]) -> int:
    return sum(n * (n - 1) // 2 for n in sizes)
