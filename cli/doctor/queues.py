"""Queues: there, patient enough, redriven to their dead letters, open to writers."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from cli.doctor.deployed import Deployed, Finding, Missing, Resource, asked, last

_DEPLOY = "deploy again: cdk deploy"
_PLAIN = {
    "VisibilityTimeout": "visibility time-out",
    "MessageRetentionPeriod": "retention",
}


def look(deployed: Deployed) -> Iterator[Finding]:
    """Compare every queue with its template."""
    for queue in deployed.of("SQS::Queue"):
        yield from _one(deployed, queue)


def _one(deployed: Deployed, queue: Resource) -> Iterator[Finding]:
    sqs = deployed.client("sqs")
    name = last(queue.physical)
    try:
        answer = asked(
            lambda: sqs.get_queue_attributes(
                QueueUrl=queue.physical, AttributeNames=["All"]
            ),
            "AWS.SimpleQueueService.NonExistentQueue",
        )
    except Missing:
        yield Finding(
            check="queues",
            what=f"the queue {name} is gone",
            mend="remove it from the stack and deploy, then deploy it again",
        )
        return
    found = answer["Attributes"]
    for key, word in _PLAIN.items():
        wanted = queue.properties.get(key)
        if isinstance(wanted, int) and str(wanted) != found.get(key):
            yield Finding(
                check="queues",
                what=f"{name}: {word} is {found.get(key)} s, deployed with {wanted} s",
                mend=_set(queue.physical, f"{key}={wanted}"),
            )
    yield from _redrive(deployed, queue, name, found)
    yield from _policy(deployed, queue, name, found)
    wanted_key = queue.properties.get("KmsMasterKeyId")
    if wanted_key is not None and not found.get("KmsMasterKeyId"):
        yield Finding(
            check="queues", what=f"{name} is not under the fleet's key", mend=_DEPLOY
        )


def _redrive(
    deployed: Deployed, queue: Resource, name: str, found: Mapping[str, str]
) -> Iterator[Finding]:
    wanted = queue.properties.get("RedrivePolicy")
    if wanted is None:
        return
    policy: dict[str, Any] = json.loads(found.get("RedrivePolicy") or "{}")
    if not policy:
        yield Finding(
            check="queues",
            what=f"{name} redrives to no dead letters: what fails is tried for four"
            " days and then lost",
            mend=_DEPLOY,
        )
        return
    if not deployed.leads_to(
        wanted["deadLetterTargetArn"], policy.get("deadLetterTargetArn")
    ):
        yield Finding(
            check="queues",
            what=f"{name} redrives to {last(policy['deadLetterTargetArn'])}, not to its"
            " own dead letters",
            mend=_DEPLOY,
        )
    receives = int(policy.get("maxReceiveCount", 0))
    if receives != wanted["maxReceiveCount"]:
        yield Finding(
            check="queues",
            what=f"{name} gives up after {receives} receives, deployed with"
            f" {wanted['maxReceiveCount']}",
            mend=_DEPLOY,
        )


def _policy(
    deployed: Deployed, queue: Resource, name: str, found: Mapping[str, str]
) -> Iterator[Finding]:
    wanted = {
        str(statement.get("Sid"))
        for policy in deployed.of("SQS::QueuePolicy")
        if queue.physical in [deployed.name_of(q) for q in policy.properties["Queues"]]
        for statement in policy.properties["PolicyDocument"]["Statement"]
        if statement["Effect"] == "Allow"
    }
    statements = json.loads(found.get("Policy") or "{}").get("Statement", [])
    there = {str(s.get("Sid")) for s in statements if s.get("Effect") == "Allow"}
    # Ours denies whoever does not speak TLS, and nobody else.
    denied = [
        s
        for s in statements
        if s.get("Effect") == "Deny" and "aws:SecureTransport" not in json.dumps(s)
    ]
    if denied:
        yield Finding(
            check="queues",
            what=f"the policy of {name} denies what it did not when it was deployed",
            mend=_DEPLOY,
        )
    allowed = json.loads(found.get("RedriveAllowPolicy") or "{}")
    if allowed and "RedriveAllowPolicy" not in queue.properties:
        yield Finding(
            check="dead letters",
            what=f"{name} takes dead letters: {allowed.get('redrivePermission')}",
            mend=_set(queue.physical, "RedriveAllowPolicy=''"),
        )
    if wanted - there:
        yield Finding(
            check="queues",
            what=f"{name} cannot be written to by the fleet's rules: its policy lacks"
            f" {', '.join(sorted(wanted - there))}",
            mend=_DEPLOY,
        )


def _set(url: str, attributes: str) -> str:
    return f"aws sqs set-queue-attributes --queue-url {url} --attributes {attributes}"
