"""Rules over a whole template, each a list of what breaks it.

They relate resources to each other, which a typo in the rule itself could make
blind: ``test_rules.py`` breaks a template for each and sees it found.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from tests.infra.template import Resource, Statement, Template, referred, shown

WRITE = {"kms:Decrypt", "kms:GenerateDataKey"}
STATEFUL = (
    "KMS::Key",
    "DynamoDB::Table",
    "S3::Bucket",
    "SQS::Queue",
    "SecretsManager::Secret",
)
_OUR_RULES = "arn:${AWS::Partition}:events:${AWS::Region}:${AWS::AccountId}:rule/*"


@dataclass(frozen=True, slots=True)
class Writer:
    """Somebody who writes to ``queue``: a rule, or whatever acts as ``role``."""

    name: str
    queue: str
    role: str | None = None


def writers(template: Template) -> Iterator[Writer]:
    """Yield everybody who writes to a queue, and so needs a permission."""
    for rule in template.all("Events::Rule"):
        for target in rule.of("Targets"):
            yield Writer(rule.id, referred(target["Arn"]))
            yield Writer(rule.id, referred(target["DeadLetterConfig"]["Arn"]))
    for schedule in template.all("Scheduler::Schedule"):
        queue = referred(schedule.of("Target.DeadLetterConfig.Arn"))
        role = referred(schedule.of("Target.RoleArn"))
        yield Writer(schedule.id, queue, role)
    for config in template.all("Lambda::EventInvokeConfig"):
        queue = referred(config.of("DestinationConfig.OnFailure.Destination"))
        yield Writer(
            config.id, queue, template.role_of(referred(config.of("FunctionName")))
        )
    for relay in template.functions("relay"):
        queue = referred(relay.of("Environment.Variables.PARKED_QUEUE_URL"))
        yield Writer(relay.id, queue, template.role_of(relay.id))


def unwritable_queues(template: Template) -> list[str]:
    """A failure queue that refuses its writer loses the failure without a word."""
    return [
        f"{writer.name} cannot {what} {writer.queue}"
        for writer in writers(template)
        for what in _missing(template, writer)
    ]


def _missing(template: Template, writer: Writer) -> Iterator[str]:
    queue = f"${{{writer.queue}.Arn}}"
    key = shown(template[writer.queue].of("KmsMasterKeyId"))
    if writer.role is None:
        policy = template.policy_of(writer.queue)
        if not any(_lets_rule(each, writer.name, queue) for each in policy):
            yield "write to"
        if not any(_lets_events(each) for each in template.key_policy()):
            yield "encrypt for"
        return
    granted = template.granted(writer.role)
    if not any(
        "sqs:SendMessage" in s.actions and queue in s.resources for s in granted
    ):
        yield "write to"
    if not any(set(s.actions) >= WRITE and key in s.resources for s in granted):
        yield "encrypt for"


def _lets_rule(statement: Statement, rule: str, queue: str) -> bool:
    sources = statement.conditions.get("aws:SourceArn", ())
    return (
        statement.effect == "Allow"
        and "sqs:SendMessage" in statement.actions
        and "events.amazonaws.com" in statement.principals
        and queue in statement.resources
        and statement.conditions.get("aws:SourceAccount") == ("${AWS::AccountId}",)
        and (f"${{{rule}.Arn}}" in sources or f"{_OUR_RULES}Bellhop-*" in sources)
    )


def _lets_events(statement: Statement) -> bool:
    return (
        set(statement.actions) >= WRITE
        and "events.amazonaws.com" in statement.principals
        and statement.conditions.get("aws:SourceArn") == (f"{_OUR_RULES}Bellhop-*",)
    )


# AWS's table of actions of ECR names no resource for it: a token is of a registry.
_TAKES_NO_RESOURCE = ("ecr:GetAuthorizationToken",)


def unlimited_grants(template: Template) -> list[str]:
    """No role does everything, or anything to everything; nobody else may either."""
    found = []
    for policy, statement in _allowing(template):
        if any("*" in action for action in statement.actions):
            found.append(f"{policy.id}: actions {statement.actions}")
        if statement.actions == _TAKES_NO_RESOURCE:
            continue
        if any(not _is_bounded(resource) for resource in statement.resources):
            found.append(f"{policy.id}: resources {statement.resources}")
        if "*" in statement.principals:
            found.append(f"{policy.id}: anybody")
    return found


def _is_bounded(resource: str) -> bool:
    """A prefix of our bucket, of workers' logs, a group or a cluster may end in *."""
    prefixes = (
        r"\$\{LedgerPayloads\w+\.Arn\}/(events|results|calendars|aws/lambda)/\*",
        r"arn:[^*]+:schedule/\$\{CalendarsTasksGroup\w+\}/\*",
        r"arn:[^*]+:log-group:Bellhop-Workers\*",
        r"arn:[^*]+:task/\$\{ContainersCluster\w+\}/\*",
    )
    return "*" not in resource or any(re.fullmatch(p, resource) for p in prefixes)


def _allowing(template: Template) -> Iterator[tuple[Resource, Statement]]:
    for resource in template.resources():
        for document in ("PolicyDocument", "KeyPolicy"):
            for body in resource.of(f"{document}.Statement") or []:
                statement = Statement.read(body)
                is_key = resource.type == "AWS::KMS::Key"
                if statement.effect == "Allow" and not is_key:
                    yield resource, statement
        for inline in resource.of("Policies") or []:
            for body in inline["PolicyDocument"]["Statement"]:
                yield resource, Statement.read(body)


def plain_text_doors(template: Template) -> list[str]:
    """Queues and buckets refuse whoever does not speak TLS."""
    closed = set()
    for policy in [
        *template.all("SQS::QueuePolicy"),
        *template.all("S3::BucketPolicy"),
    ]:
        for body in policy.of("PolicyDocument.Statement"):
            statement = Statement.read(body)
            refuses = statement.conditions.get("aws:SecureTransport") == ("false",)
            if statement.effect == "Deny" and "*" in statement.principals and refuses:
                named = policy.of("Queues") or [policy.of("Bucket")]
                closed |= {referred(each) for each in named}
    doors = [*template.all("SQS::Queue"), *template.all("S3::Bucket")]
    return [door.id for door in doors if door.id not in closed]


def under_another_key(template: Template) -> list[str]:
    """Everything at rest lies under the fleet's own key."""
    key = template.only("KMS::Key").id
    bucket = "BucketEncryption.ServerSideEncryptionConfiguration"
    where = {
        "SQS::Queue": "KmsMasterKeyId",
        "SNS::Topic": "KmsMasterKeyId",
        "DynamoDB::Table": "SSESpecification.KMSMasterKeyId",
        "SecretsManager::Secret": "KmsKeyId",
        "Logs::LogGroup": "KmsKeyId",
        "S3::Bucket": bucket,
    }
    return [
        resource.id
        for kind, path in where.items()
        for resource in template.all(kind)
        if referred(resource.of(path)) != key
    ]


def forgettable(template: Template) -> list[str]:
    """What holds state stays, whether the stack is deleted or the resource replaced."""
    return [
        resource.id
        for kind in STATEFUL
        for resource in template.all(kind)
        if resource.body.get("DeletionPolicy") != "RetainExceptOnCreate"
        or resource.body.get("UpdateReplacePolicy") != "Retain"
    ]


def impatient_queues(template: Template) -> list[str]:
    """Six times the function timeout, or a throttled batch is delivered twice."""
    found = []
    for mapping in template.mappings(streams=False):
        queue = template[referred(mapping.of("EventSourceArn"))]
        function = template[referred(mapping.of("FunctionName"))]
        if queue.of("VisibilityTimeout") < 6 * function.of("Timeout"):
            found.append(queue.id)
    return found


def half_reported_batches(template: Template) -> list[str]:
    """Item failures on queues only: on a stream one would hold up all behind it."""
    reported = ["ReportBatchItemFailures"]
    return [
        *(
            each.id
            for each in template.mappings(streams=False)
            if each.of("FunctionResponseTypes") != reported
            or each.of("MaximumRetryAttempts") is not None
        ),
        *(
            each.id
            for each in template.mappings(streams=True)
            if each.of("FunctionResponseTypes")
        ),
    ]


def agents_without_dead_letters(template: Template) -> list[str]:
    """Each agent's queue redrives, to a queue that keeps it longer, and no other."""
    found = []
    taken: list[str] = []
    for queue in template.worked_queues():
        target = referred(queue.of("RedrivePolicy.deadLetterTargetArn"))
        receives = queue.of("RedrivePolicy.maxReceiveCount") or 0
        if (
            not target
            or target in taken
            or not 3 <= receives <= 10
            or template[target].of("MessageRetentionPeriod")
            <= queue.of("MessageRetentionPeriod")
        ):
            found.append(queue.id)
        taken.append(target)
    return found


def variables(template: Template) -> dict[str, dict[str, Any]]:
    """Return each function's environment variables, by its id."""
    return {
        function.id: function.of("Environment.Variables") or {}
        for function in template.all("Lambda::Function")
    }


def container_variables(template: Template) -> dict[str, dict[str, Any]]:
    """Return each container's environment variables, by its task's id."""
    return {
        task: {each["Name"]: each["Value"] for each in container["Environment"]}
        for task, container in template.containers().items()
    }


def local_variables(template: Template) -> list[str]:
    """What moves the clock, kills a worker or switches a guard off stays at home."""
    everybody = variables(template) | container_variables(template)
    return [
        f"{worker}: {name}"
        for worker, named in everybody.items()
        for name in named
        if name.startswith("BELLHOP_") or name == "POWERTOOLS_IDEMPOTENCY_DISABLED"
    ]


def crowded_environments(template: Template) -> list[str]:
    """Lambda takes 4 KB of variables; a reference is as long as a queue's URL."""
    return [
        function
        for function, named in variables(template).items()
        if sum(len(name) + _length(value) for name, value in named.items()) > 4096
    ]


def _length(value: Any) -> int:
    # A queue's name has 80 characters at most, its URL 54 more; no other reference
    # is as long.
    text = re.sub(r"\$\{\w+\.QueueName\}", "x" * 80, shown(value))
    return len(re.sub(r"\$\{[^}]*\}", "x" * 134, text))
