"""`secret set` of calendars and of the digest; and what has not its reader's form."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import boto3
import pytest

from cli import rotation
from cli.doctor import stores
from cli.forms import wrong
from cli.signers import Signer, names
from cli.target import Target, find
from lambdas.shared import clock
from lambdas.shared.fleet import Fleet, Source
from lambdas.shared.secrets import parse
from tests.fakes.google import consent, service_account
from tests.flows.cli.conftest import FLEET, Stack

MORE = """
[sources.svix]
[sources.discord]
[sources.sendgrid]

[calendars.finance]
rules = [{ category = "month-end-close", agent = "hello" }]

[calendars.board]
feed = "google"
calendar_id = "primary"
rules = [{ category = "quarterly-board", agent = "hello" }]

[digest]
"""
OTHERS = {
    "calendars.finance": "bellhop/calendar-finance",
    "calendars.board": "bellhop/calendar-board",
    "digest": "bellhop/digest",
}
HOOK = "https://hooks.slack.com/services/T0/B0/x"


@pytest.fixture
def full(stack: Stack, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Stack:
    """A stack with calendars and a digest, whose secrets nobody has set."""
    (tmp_path / "full.toml").write_text(FLEET + MORE, encoding="utf-8")
    monkeypatch.setenv("BELLHOP_FLEET", str(tmp_path / "full.toml"))
    secrets = boto3.client("secretsmanager")
    more = ("bellhop/svix", "bellhop/discord", "bellhop/sendgrid")
    for name in (*OTHERS.values(), *more):
        secrets.create_secret(Name=name, SecretString="random-and-unset")
    return stack


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("calendars.finance", "webcal://feeds.example/a.ics"),
        ("calendars.board", service_account()),
        ("calendars.board", consent().replace(", ", ",\n")),
        ("digest", HOOK),
    ],
    ids=["feed", "service account", "consent", "digest"],
)
def test_secret_of_a_calendar_or_the_digest_is_stored_as_its_reader_takes_it(
    full: Stack, name: str, value: str
) -> None:
    answered = full.run("secret", "set", name, stdin=f"{value}\n")

    assert answered.code == 0, answered.err
    stored = full.secret(OTHERS[name].removeprefix("bellhop/"))
    assert parse(name, stored).current == value
    assert answered.json["source"] == name
    assert full.run("audit").json[0]["what"] == "secret set"


@pytest.mark.parametrize(
    ("name", "value", "why"),
    [
        ("calendars.finance", "http://feeds.example/", "want https:// or webcal://"),
        ("calendars.finance", service_account(), "the feed's address"),
        ("calendars.board", "webcal://feeds.example/", "is no key of Google's"),
        ("calendars.board", '{"installed": {}}', "nobody has consented yet"),
        ("digest", "hunter2", "want an incoming webhook's address"),
        ("digest", "xoxb-1", "wants [digest] channel in fleet.toml"),
        ("svix", "whsec_not base64!", "has not the sender's form"),
        ("discord", "not-hex", "has not the sender's form"),
        ("sendgrid", "bm90IGEga2V5", "has not the sender's form"),
        ("svix", "one\ntwo", "the secret has several lines"),
        ("calendars.nobody", "hunter2", "calendars.finance, calendars.board, digest"),
    ],
)
def test_secret_that_its_reader_would_refuse_is_not_stored(
    full: Stack, name: str, value: str, why: str
) -> None:
    answered = full.run("secret", "set", name, stdin=value)

    assert answered.code == 2
    assert why in answered.err
    assert value not in answered.err
    if name in OTHERS:
        stored = full.secret(OTHERS[name].removeprefix("bellhop/"))
        assert stored == "random-and-unset"


@pytest.mark.parametrize("name", ["calendars.board", "digest"])
@pytest.mark.parametrize("words", [["set", "--generate"], ["rotate"], ["retire"]])
def test_what_the_other_side_makes_is_neither_made_up_nor_rotated(
    full: Stack, name: str, words: list[str]
) -> None:
    assert full.run("secret", words[0], name, *words[1:], stdin="x").code == 2


def test_status_tells_which_of_them_are_unset(full: Stack) -> None:
    full.run("secret", "set", "digest", stdin=HOOK)

    answered = full.run("secret", "status")

    notes = {row["source"]: row["note"] for row in answered.json}
    assert answered.code == 1
    assert notes["digest"] is None
    assert "want https:// or webcal://" in notes["calendars.finance"]
    assert "is no key of Google's" in notes["calendars.board"]
    assert notes["github"] is None


@pytest.mark.parametrize(
    "sender", [n for n in names() if Signer(n).has_secret and n != "generic"]
)
def test_secret_of_a_sender_s_own_form_is_taken(sender: str) -> None:
    """Nobody is kept from storing the right one."""
    signer = Signer(sender)
    value = rotation.generate(sender)
    if signer.makes_secret and sender != "adyen":  # which has hex, and all others text
        value = rotation.generate("svix")
    if signer.has_key_pair:
        value = signer.public(signer.new_key())
    source = Source(name=sender, sender=sender, secret_name="x", options=signer.options)
    fleet = Fleet(sources={sender: source}, agents={})

    assert wrong(fleet, sender, value, clock.now()) is None


@dataclass(frozen=True)
class Template:
    """What doctor compares with: a stack that made these secrets, and no more."""

    target: Target
    names: tuple[str, ...]

    def of(self, kind: str) -> list[Any]:
        is_secret = kind == "SecretsManager::Secret"
        return [
            SimpleNamespace(properties={"Name": n}) for n in self.names if is_secret
        ]

    def client(self, service: str) -> Any:
        return boto3.client(service)  # type: ignore[call-overload]


def test_doctor_says_which_secrets_have_not_their_form_and_what_sets_them(
    full: Stack,
) -> None:
    target = find(local=False, stack="Bellhop", profile=None, region=None)
    names = ("bellhop/github", *OTHERS.values())

    def found() -> dict[str, str]:
        template: Any = Template(target, names)
        return {each.mend: each.what for each in stores.look(template)}

    unset = found()
    assert set(unset) == {f"bellhop secret set {name}" for name in OTHERS}
    assert "is no key of Google's" in unset["bellhop secret set calendars.board"]

    full.run("secret", "set", "calendars.board", stdin=service_account())
    full.run("secret", "set", "calendars.finance", stdin="webcal://feeds.example/a")
    full.run("secret", "set", "digest", stdin=HOOK)
    assert found() == {}
