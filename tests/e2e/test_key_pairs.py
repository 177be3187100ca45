"""Senders whose keys are public, or must be fetched, on the running stack."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from local import up
from local.home import Home
from local.stack import LocalStack

TOPIC = "arn:aws:sns:eu-central-1:123456789012:orders"
FLEET = f"""
[sources.discord]
[sources.sendgrid]
[sources.topic]
sender = "aws-sns"
topics = ["{TOPIC}"]
[sources.paypal]
webhook_id = "4JH86294D6297924G"
[sources.gmail]
sender = "google-pubsub"
service_account = "push@corner-cafe.iam.gserviceaccount.com"
audience = "https://hooks.cafe.example/webhooks/gmail"
[sources.twilio]
public_url = "https://hooks.cafe.example/webhooks/twilio"
[sources.shopify-oauth-callback]
"""
CERTIFICATES = "/api.paypal.com/v1/notifications/certs"
GOOGLE_KEYS = "/www.googleapis.com/oauth2/v3/certs"
BELLHOP = Path(sys.executable).with_name("bellhop")


@dataclass(frozen=True)
class Cafe:
    """The stack, and the command line pointed at it."""

    stack: LocalStack
    folder: Path

    def send(self, *words: str) -> tuple[int, list[dict[str, Any]]]:
        """Run ``bellhop send``; return how it ended and what it told."""
        done = subprocess.run(
            [BELLHOP, "send", *words, "--local", "--json"],
            env={
                **os.environ,
                "BELLHOP_LOCAL_FOLDER": str(self.folder),
                "BELLHOP_FLEET": str(self.folder.parent / "fleet.toml"),
            },
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.stdout, done.stderr
        return done.returncode, json.loads(done.stdout)

    def looks(self, path: str) -> int:
        """Return how often anybody looked at what is published below a path."""
        effects = self.stack.effects()
        return sum(e["method"] == "GET" and e["path"].startswith(path) for e in effects)


@pytest.fixture(scope="module")
def cafe(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cafe]:
    folder = tmp_path_factory.mktemp("key-pairs")
    fleet = folder / "fleet.toml"
    fleet.write_text(FLEET, encoding="utf-8")
    with up.running(Home(folder / "local"), fleet=fleet) as stack:
        yield Cafe(stack, folder / "local")


@pytest.mark.parametrize(
    "source",
    [
        "discord",
        "sendgrid",
        "topic",
        "paypal",
        "gmail",
        "twilio",
        "shopify-oauth-callback",
    ],
)
def test_sample_is_accepted_and_its_forgery_refused(cafe: Cafe, source: str) -> None:
    code, rows = cafe.send(source, "--duplicate", "2")
    forged_code, forged = cafe.send(source, "--tamper")

    assert code == 0, rows
    assert {row["status"] for row in rows} <= {200, 204}
    assert (forged_code, forged[0]["status"]) == (0, 401)


def test_keys_are_fetched_once_for_many_requests(cafe: Cafe) -> None:
    for _ in range(3):
        assert cafe.send("gmail")[0] == 0
        assert cafe.send("paypal", "--duplicate", "3")[0] == 0

    # Each warm function remembers for itself; one at a time is enough here.
    assert 1 <= cafe.looks(GOOGLE_KEYS) <= 2
    assert 1 <= cafe.looks(CERTIFICATES) <= 2


def test_subscription_is_confirmed_by_one_look_at_its_address(cafe: Cafe) -> None:
    code, rows = cafe.send("topic", "SubscriptionConfirmation", "--duplicate", "3")

    assert (code, rows[0]["verdict"]) == (0, "answered"), rows
    assert cafe.looks("/sns.eu-central-1.amazonaws.com/") == 2  # and the certificate
    effects = cafe.stack.effects()
    assert sum(e["path"] == "/sns.eu-central-1.amazonaws.com/" for e in effects) == 1
