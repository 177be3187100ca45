"""What is sent: bodies like GitHub's, and the requests, records and messages of them.

Everything is made from a seed, so that both sides of a comparison get the same.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import random
from typing import Any

SECRET = b"bench-secret"
EVENT_TIME = "2026-01-02T03:04:05Z"
_EXPIRES_AT = 4_000_000_000
_SPOKEN = (
    "add fix remove the a of to queue retry worker event test null when handler"
    " timeout cache index release bump version docs type error message parse"
)
_words = _SPOKEN.split()


class Context:
    """Lambda's context, as far as Powertools reads it."""

    function_name = "bench"
    memory_limit_in_mb = 1769
    invoked_function_arn = "arn:aws:lambda:eu-central-1:000000000000:function:bench"
    aws_request_id = "00000000-0000-0000-0000-000000000000"

    def get_remaining_time_in_millis(self) -> int:
        """Return plenty."""
        return 60_000


def github_body(size_bytes: int, seed: int = 0) -> bytes:
    """Return a push event of about that size, which zlib shrinks 4 to 5 times."""
    chance = random.Random(seed)  # noqa: S311 - no secret
    repository = _repository(chance)
    commits: list[dict[str, Any]] = []
    body: dict[str, Any] = {
        "ref": "refs/heads/main",
        "action": "opened",
        "repository": repository,
        "sender": _person(chance),
        "commits": commits,
    }
    while len(json.dumps(body)) < size_bytes:
        commits.append(_commit(chance, repository["url"]))
    return json.dumps(body).encode()


def _commit(chance: random.Random, url: str) -> dict[str, Any]:
    sha = f"{chance.getrandbits(160):040x}"
    words = chance.choices(_words, k=chance.randint(4, 14))
    files = [f"src/{'/'.join(chance.sample(_words, 2))}.py" for _ in range(3)]
    return {
        "id": sha,
        "tree_id": f"{chance.getrandbits(160):040x}",
        "distinct": True,
        "message": " ".join(words),
        "timestamp": f"2026-01-02T03:{chance.randint(10, 59)}:05Z",
        "url": f"{url}/commit/{sha}",
        "author": _person(chance),
        "committer": {"name": "GitHub", "email": "noreply@github.com"},
        "added": files[:1],
        "removed": [],
        "modified": files[1:],
    }


def _person(chance: random.Random) -> dict[str, Any]:
    login = "-".join(chance.sample(_words, 2))
    url = f"https://api.github.com/users/{login}"
    ends = ("followers", "gists", "orgs", "repos", "received_events", "starred")
    return {
        "login": login,
        "id": chance.randint(10**6, 10**8),
        "node_id": base64.b64encode(chance.randbytes(15)).decode(),
        "type": "User",
        **{f"{end}_url": f"{url}/{end}" for end in ends},
    }


def _repository(chance: random.Random) -> dict[str, Any]:
    url = "https://api.github.com/repos/acme/widgets"
    ends = ("forks", "keys", "hooks", "issues", "pulls", "labels", "merges", "tags")
    return {
        "id": chance.randint(10**6, 10**8),
        "full_name": "acme/widgets",
        "private": False,
        "owner": _person(chance),
        "url": "https://github.com/acme/widgets",
        **{f"{end}_url": f"{url}/{end}{{/number}}" for end in ends},
    }


def github_request(
    body: bytes, delivery: str, secret: bytes = SECRET
) -> dict[str, Any]:
    """Return the HTTP API's event of a GitHub delivery."""
    signature = "sha256=" + hmac.new(secret, body, hashlib.sha256).hexdigest()
    headers = {
        "accept": "*/*",
        "content-type": "application/json",
        "user-agent": "GitHub-Hookshot/bench",
        "x-github-delivery": delivery,
        "x-github-event": "issues",
        "x-github-hook-id": "1",
        "x-hub-signature-256": signature,
    }
    return _request("github", headers, body)


def line_request(events: int, seed: str) -> dict[str, Any]:
    """Return a request of LINE's that holds several events."""
    many = [
        {"type": "message", "webhookEventId": f"{seed}-{index}", "timestamp": 1}
        for index in range(events)
    ]
    body = json.dumps({"events": many}).encode()
    signature = base64.b64encode(hmac.digest(SECRET, body, "sha256")).decode()
    return _request("line", {"x-line-signature": signature}, body)


def _request(source: str, headers: dict[str, str], body: bytes) -> dict[str, Any]:
    path = f"/webhooks/{source}"
    http = {
        "method": "POST",
        "path": path,
        "protocol": "HTTP/1.1",
        "sourceIp": "192.0.2.1",
        "userAgent": "bench",
    }
    return {
        "version": "2.0",
        "routeKey": "ANY /webhooks/{source}",
        "rawPath": path,
        "rawQueryString": "",
        "headers": {"host": "bench.example", "content-type": "application/json"}
        | {"content-length": str(len(body)), "x-forwarded-proto": "https"}
        | headers,
        "requestContext": {
            "accountId": "000000000000",
            "apiId": "bench",
            "domainName": "bench.example",
            "http": http,
            "requestId": "bench=",
            "routeKey": "ANY /webhooks/{source}",
            "stage": "$default",
        },
        "pathParameters": {"source": source},
        "body": body.decode(),
        "isBase64Encoded": False,
    }


def message(event_id: str, *, receives: int = 1, number: int = 0) -> dict[str, Any]:
    """Return the SQS record by which the bus tells an agent of an event."""
    detail = {
        "event_id": event_id,
        "tenant": "acme",
        "received_at": EVENT_TIME,
        "expires_at": _EXPIRES_AT,
        "facts": {"action": "opened", "repository": "acme/widgets"},
        "actor": "octocat",
        "thread": None,
    }
    envelope = {
        "version": "0",
        "id": "00000000-0000-0000-0000-000000000000",
        "detail-type": "issues.opened",
        "source": "bellhop.github",
        "account": "000000000000",
        "time": EVENT_TIME,
        "region": "eu-central-1",
        "resources": [],
        "detail": detail,
    }
    return {
        "messageId": f"{event_id}-{number}",
        "receiptHandle": "receipt",
        "body": json.dumps(envelope),
        "attributes": {
            "ApproximateReceiveCount": str(receives),
            "SentTimestamp": "1767323045000",
            "ApproximateFirstReceiveTimestamp": "1767323046000",
        },
        "messageAttributes": {},
        "eventSource": "aws:sqs",
        "eventSourceARN": "arn:aws:sqs:eu-central-1:000000000000:bench",
        "awsRegion": "eu-central-1",
    }


def stream_record(event_id: str, body: bytes) -> dict[str, Any]:
    """Return the record of an event's row on the ledger's stream."""
    texts = {
        "pk": event_id,
        "sk": "event",
        "source": "github",
        "kind": "issues.opened",
        "tenant": "acme",
        "actor": "octocat",
        "occurred_at": EVENT_TIME,
        "received_at": EVENT_TIME,
        "accepted": "accepted#2026-01-02T03#0",
        "facts": '{"action":"opened","repository":"acme/widgets","author":"octocat"}',
        "headers": '{"x-github-event":"issues"}',
        "media_type": "application/json",
        "via": "door",
    }
    image: dict[str, Any] = {name: {"S": text} for name, text in texts.items()}
    image["expires_at"] = {"N": str(_EXPIRES_AT)}
    image["body_bytes"] = {"N": str(len(body))}
    image["body"] = {"B": base64.b64encode(body).decode()}
    return {"eventName": "INSERT", "dynamodb": {"NewImage": image}}
