"""A sender with a private key is played with one of ours, on the local stack only."""

from __future__ import annotations

import stat
from collections.abc import Iterator
from pathlib import Path

import boto3
import pytest
from moto import mock_aws

from cli import vault
from cli.output import UsageError
from cli.signers import Signer
from cli.target import Target


@pytest.fixture
def local(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Target]:
    """A local stack with one source of Discord's."""
    fleet = tmp_path / "fleet.toml"
    fleet.write_text("[sources.github]\n", encoding="utf-8")
    monkeypatch.setenv("BELLHOP_FLEET", str(fleet))
    with mock_aws():
        boto3.client("secretsmanager").create_secret(Name="d", SecretString="random")
        boto3.client("dynamodb").create_table(
            TableName="ledger",
            BillingMode="PAY_PER_REQUEST",
            KeySchema=[
                {"AttributeName": "pk", "KeyType": "HASH"},
                {"AttributeName": "sk", "KeyType": "RANGE"},
            ],
            AttributeDefinitions=[
                {"AttributeName": "pk", "AttributeType": "S"},
                {"AttributeName": "sk", "AttributeType": "S"},
            ],
        )
        yield Target(
            name="local",
            api_url="http://127.0.0.1:9",
            ledger_table="ledger",
            payload_bucket="payloads",
            bus="bus",
            outputs={},
            session=boto3.Session(),
            secrets={"discord": "d"},
            clock_file=tmp_path / "clock",
        )


def test_key_is_made_once_and_its_public_part_is_the_secret(
    local: Target, tmp_path: Path
) -> None:
    signer = Signer("discord")

    first = vault.private_key(local, "discord", signer)
    second = vault.private_key(local, "discord", signer)

    assert first == second
    assert vault.fetch(local, "discord").current == signer.public(first)
    mode = (tmp_path / "keys/discord.pem").stat().st_mode
    assert stat.S_IMODE(mode) == 0o600


def test_public_part_is_put_back_where_another_secret_was_set(local: Target) -> None:
    signer = Signer("discord")
    key = vault.private_key(local, "discord", signer)
    boto3.client("secretsmanager").put_secret_value(SecretId="d", SecretString="other")

    vault.private_key(local, "discord", signer)

    assert vault.fetch(local, "discord").current == signer.public(key)


def test_sender_of_a_deployed_stack_cannot_be_played() -> None:
    deployed = Target(
        name="Bellhop",
        api_url="https://hooks.example",
        ledger_table="ledger",
        payload_bucket="payloads",
        bus="bus",
        outputs={},
        session=boto3.Session(),
    )

    with pytest.raises(UsageError, match=r"only the local stack"):
        vault.private_key(deployed, "discord", Signer("discord"))
