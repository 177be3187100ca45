"""What holds state: the ledger, the payload bucket, the key, the secrets."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from cli import forms
from cli.doctor.deployed import Deployed, Finding, Missing, Resource, asked
from lambdas.shared.errors import Misconfigured
from lambdas.shared.secrets import parse

_DEPLOY = "deploy again: cdk deploy"


def look(deployed: Deployed) -> Iterator[Finding]:
    """Compare them with their template, and the secrets with what reads them."""
    for table in deployed.of("DynamoDB::Table"):
        yield from _table(deployed, table)
    for bucket in deployed.of("S3::Bucket"):
        yield from _bucket(deployed, bucket)
    for key in deployed.of("KMS::Key"):
        yield from _key(deployed, key)
    yield from _secrets(deployed)


def _table(deployed: Deployed, table: Resource) -> Iterator[Finding]:
    client, name = deployed.client("dynamodb"), table.physical
    try:
        found = asked(lambda: client.describe_table(TableName=name))["Table"]
    except Missing:
        yield Finding(
            check="ledger",
            what=f"the ledger {name} is gone",
            mend="restore it from point-in-time recovery under the same name",
        )
        return
    if found.get("TableStatus") != "ACTIVE":
        yield Finding(
            check="ledger", what=f"the ledger is {found['TableStatus']}", mend="wait"
        )
    if not (found.get("StreamSpecification") or {}).get("StreamEnabled"):
        yield Finding(
            check="ledger",
            what="the ledger's stream is off: nothing accepted reaches an agent",
            mend=_DEPLOY,
        )
    indexes = {i["IndexName"] for i in found.get("GlobalSecondaryIndexes", [])}
    for index in table.properties.get("GlobalSecondaryIndexes", []):
        if index["IndexName"] not in indexes:
            yield Finding(
                check="ledger",
                what=f"the ledger lacks its index {index['IndexName']}",
                mend=_DEPLOY,
            )
    if table.properties.get("DeletionProtectionEnabled") and not found.get(
        "DeletionProtectionEnabled"
    ):
        yield Finding(
            check="ledger",
            what="the ledger may be deleted: its protection is off",
            mend=f"aws dynamodb update-table --table-name {name}"
            " --deletion-protection-enabled",
        )
    yield from _lifetime(client, table, name)


def _lifetime(client: Any, table: Resource, name: str) -> Iterator[Finding]:
    wanted = table.properties.get("TimeToLiveSpecification", {}).get("AttributeName")
    told = client.describe_time_to_live(TableName=name)["TimeToLiveDescription"]
    is_on = told.get("TimeToLiveStatus") in {"ENABLED", "ENABLING"}
    if wanted and not (is_on and told.get("AttributeName") == wanted):
        yield Finding(
            check="ledger",
            what="the ledger never forgets: its time to live is off",
            mend=f"aws dynamodb update-time-to-live --table-name {name}"
            f" --time-to-live-specification Enabled=true,AttributeName={wanted}",
        )
    backups = client.describe_continuous_backups(TableName=name)
    recovery = backups["ContinuousBackupsDescription"].get(
        "PointInTimeRecoveryDescription", {}
    )
    if recovery.get("PointInTimeRecoveryStatus") != "ENABLED":
        yield Finding(
            check="ledger",
            what="the ledger cannot be restored: point-in-time recovery is off",
            mend=f"aws dynamodb update-continuous-backups --table-name {name}"
            " --point-in-time-recovery-specification PointInTimeRecoveryEnabled=true",
        )


def _bucket(deployed: Deployed, bucket: Resource) -> Iterator[Finding]:
    s3, name = deployed.client("s3"), bucket.physical
    try:
        asked(lambda: s3.head_bucket(Bucket=name), "403")
    except Missing:
        yield Finding(
            check="payloads",
            what=f"the payload bucket {name} is gone, or not ours",
            mend=_DEPLOY,
        )
        return
    try:
        answer = asked(lambda: s3.get_public_access_block(Bucket=name))
        walls = answer["PublicAccessBlockConfiguration"]
    except Missing:
        walls = {}
    if not walls or not all(walls.values()):
        yield Finding(
            check="payloads",
            what=f"the payload bucket {name} does not block public access",
            mend=_DEPLOY,
        )
    wanted = bucket.properties.get("LifecycleConfiguration", {}).get("Rules", [])
    try:
        answer = asked(lambda: s3.get_bucket_lifecycle_configuration(Bucket=name))
        there = answer.get("Rules", [])
    except Missing:
        there = []
    days = {rule.get("ExpirationInDays") for rule in wanted} - {None}
    found = {rule.get("Expiration", {}).get("Days") for rule in there}
    # The local engine keeps no rules of buckets.
    is_told = there or not deployed.target.is_local
    if days and is_told and not days <= found:
        yield Finding(
            check="payloads",
            what=f"the payload bucket {name} forgets after"
            f" {sorted(found - {None}) or 'no'} days, deployed with {sorted(days)}",
            mend=_DEPLOY,
        )


def _key(deployed: Deployed, key: Resource) -> Iterator[Finding]:
    client = deployed.client("kms")
    try:
        answer = asked(lambda: client.describe_key(KeyId=key.physical))
    except Missing:
        yield Finding(check="key", what="the fleet's key is gone", mend="none: restore")
        return
    state = answer["KeyMetadata"].get("KeyState")
    if state != "Enabled":
        yield Finding(
            check="key",
            what=f"the fleet's key is {state}: nothing can be read or written",
            mend=f"aws kms cancel-key-deletion --key-id {key.physical}, then"
            f" aws kms enable-key --key-id {key.physical}",
        )


def _secrets(deployed: Deployed) -> Iterator[Finding]:
    fleet = deployed.target.fleet
    sources = {source.secret_name: name for name, source in fleet.sources.items()}
    sources |= {feed.secret_name: name for name, feed in fleet.feeds.items()}
    made = {
        str(secret.properties.get("Name")): secret
        for secret in deployed.of("SecretsManager::Secret")
    }
    agents = {
        name: agent.name for agent in fleet.agents.values() for name in agent.secrets
    }
    others = {named: name for name, named in forms.secret_names(fleet).items()}
    for name in sorted({*made, *agents}):
        known = sources.get(name) or others.get(name)
        mend = f"aws secretsmanager create-secret --name {name}"
        if known is not None:
            mend = f"bellhop secret set {known}"
        whose = f"agent {agents[name]}" if name in agents else "its source"
        if name in others and name not in sources:
            whose = "the digest" if others[name] == forms.DIGEST else others[name]
        yield from _secret(deployed, name, whose, mend)


def _secret(deployed: Deployed, name: str, whose: str, mend: str) -> Iterator[Finding]:
    client = deployed.client("secretsmanager")
    try:
        about = asked(lambda: client.describe_secret(SecretId=name))
        if about.get("DeletedDate"):
            yield Finding(
                check="secrets",
                what=f"the secret {name} of {whose} is being deleted",
                mend=f"aws secretsmanager restore-secret --secret-id {name}",
            )
            return
        answer = asked(lambda: client.get_secret_value(SecretId=name))
    except Missing:
        yield Finding(
            check="secrets",
            what=f"the secret {name} of {whose} is missing or has no value",
            mend=mend,
        )
        return
    why = _wrong(answer)
    if why is not None:
        yield Finding(
            check="secrets", what=f"the secret {name} of {whose} is {why}", mend=mend
        )
        return
    why = _refused(deployed, name, answer["SecretString"])
    if why is not None:
        yield Finding(
            check="secrets",
            what=f"the secret {name} of {whose} will be refused: {why}",
            mend=mend,
        )


def _refused(deployed: Deployed, name: str, text: str) -> str | None:
    """Return why its reader would refuse the secret, as far as its form tells."""
    target = deployed.target
    try:
        value = parse(name, text).current
    except Misconfigured as error:
        return str(error).removeprefix(f"secret {name}: ")
    for told, named in forms.secret_names(target.fleet).items():
        if named == name and told not in target.fleet.sources:
            return forms.wrong(target.fleet, told, value, target.now())
    return None


def _wrong(answer: Mapping[str, Any]) -> str | None:
    """Return in a word what is wrong with a stored secret."""
    text = answer.get("SecretString")
    if text is None:
        return "binary, want text"
    return None if text.strip() else "empty"
