"""Each rule over a template is shown a template that breaks it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.infra import rules
from tests.infra.template import Template, referred

Rule = Callable[[Template], list[str]]
Sabotage = Callable[[Template], None]


def _properties(template: Template, resource: str) -> dict[str, Any]:
    properties: dict[str, Any] = template[resource].body["Properties"]
    return properties


def _statements(template: Template, role: str) -> list[dict[str, Any]]:
    for policy in template.all("IAM::Policy"):
        if role in [referred(each) for each in policy.of("Roles")]:
            statements: list[dict[str, Any]] = policy.of("PolicyDocument.Statement")
            return statements
    raise AssertionError(f"{role} has no policy")


def _first(template: Template, kind: str) -> dict[str, Any]:
    return _properties(template, template.all(kind)[0].id)


def _schedules_role(template: Template) -> str:
    return referred(template.all("Scheduler::Schedule")[0].of("Target.RoleArn"))


def _drop_key_grant(template: Template) -> None:
    _drop(_statements(template, _schedules_role(template)), "kms:GenerateDataKey")


def _drop_send_grant(template: Template) -> None:
    config = template.all("Lambda::EventInvokeConfig")[0]
    role = template.role_of(referred(config.of("FunctionName")))
    _drop(_statements(template, role), "sqs:SendMessage")


def _drop(statements: list[dict[str, Any]], action: str) -> None:
    kept = [each for each in statements if action not in each["Action"]]
    assert len(kept) < len(statements)
    statements[:] = kept


def _shut_out_rules(template: Template) -> None:
    queue = referred(template.all("Events::Rule")[0].of("Targets")[0]["Arn"])
    for policy in template.all("SQS::QueuePolicy"):
        if queue in [referred(each) for each in policy.of("Queues")]:
            statements = policy.of("PolicyDocument.Statement")
            statements[:] = [e for e in statements if e["Effect"] == "Deny"]


def _name_another_rule(template: Template) -> None:
    queue = referred(template.all("Events::Rule")[0].of("Targets")[0]["Arn"])
    for policy in template.all("SQS::QueuePolicy"):
        if queue in [referred(each) for each in policy.of("Queues")]:
            for each in policy.of("PolicyDocument.Statement"):
                if "ArnLike" in each["Condition"]:
                    each["Condition"]["ArnLike"]["aws:SourceArn"] = ["arn:another"]


def _shut_events_out_of_key(template: Template) -> None:
    statements = template.only("KMS::Key").of("KeyPolicy.Statement")
    statements[:] = [e for e in statements if e.get("Sid") != "Events"]


def _grant(action: str, resource: str) -> Sabotage:
    def sabotage(template: Template) -> None:
        statement = {"Effect": "Allow", "Action": action, "Resource": resource}
        _first(template, "IAM::Policy")["PolicyDocument"]["Statement"].append(statement)

    return sabotage


def _grant_inline(template: Template) -> None:
    statement = {"Effect": "Allow", "Action": "s3:GetObject", "Resource": "*"}
    document = {"Statement": [statement]}
    _first(template, "IAM::Role")["Policies"] = [{"PolicyDocument": document}]


def _open_queue(template: Template) -> None:
    statement = {"Effect": "Allow", "Principal": "*", "Action": "sqs:SendMessage"}
    statements = _first(template, "SQS::QueuePolicy")["PolicyDocument"]["Statement"]
    statements.append(statement)


def _speak_plain(template: Template) -> None:
    statements = _first(template, "SQS::QueuePolicy")["PolicyDocument"]["Statement"]
    statements[:] = [each for each in statements if each["Effect"] == "Allow"]


def _use_awss_key(template: Template) -> None:
    _first(template, "SQS::Queue")["KmsMasterKeyId"] = "alias/aws/sqs"


def _forget_key_of_logs(template: Template) -> None:
    del _first(template, "Logs::LogGroup")["KmsKeyId"]


def _delete_with_stack(template: Template) -> None:
    template.only("DynamoDB::Table").body["DeletionPolicy"] = "Delete"


def _hurry(template: Template) -> None:
    (mapping, *_) = template.mappings(streams=False)
    function = _properties(template, referred(mapping.of("FunctionName")))
    function["Timeout"] += 1


def _report_on_stream(template: Template) -> None:
    (stream,) = template.mappings(streams=True)
    stream.body["Properties"]["FunctionResponseTypes"] = ["ReportBatchItemFailures"]


def _report_nothing(template: Template) -> None:
    del template.mappings(streams=False)[0].body["Properties"]["FunctionResponseTypes"]


def _never_redrive(template: Template) -> None:
    (mapping, *_) = template.mappings(streams=False)
    del _properties(template, referred(mapping.of("EventSourceArn")))["RedrivePolicy"]


def _share_dead_letters(template: Template) -> None:
    one, other, *_ = [
        _properties(template, referred(mapping.of("EventSourceArn")))
        for mapping in template.mappings(streams=False)
    ]
    other["RedrivePolicy"] = one["RedrivePolicy"]


def _set_variable(name: str, value: str) -> Sabotage:
    def sabotage(template: Template) -> None:
        function = _first(template, "Lambda::Function")
        function["Environment"]["Variables"][name] = value

    return sabotage


@pytest.mark.parametrize(
    ("rule", "sabotage"),
    [
        (rules.unwritable_queues, _drop_key_grant),
        (rules.unwritable_queues, _drop_send_grant),
        (rules.unwritable_queues, _shut_out_rules),
        (rules.unwritable_queues, _name_another_rule),
        (rules.unwritable_queues, _shut_events_out_of_key),
        (rules.unlimited_grants, _grant("s3:*", "arn:aws:s3:::b/key")),
        (rules.unlimited_grants, _grant("kms:ReEncrypt*", "arn:aws:kms:::key/k")),
        (rules.unlimited_grants, _grant("s3:GetObject", "*")),
        (rules.unlimited_grants, _grant("s3:GetObject", "arn:aws:s3:::b/*")),
        (rules.unlimited_grants, _grant_inline),
        (rules.unlimited_grants, _open_queue),
        (rules.plain_text_doors, _speak_plain),
        (rules.under_another_key, _use_awss_key),
        (rules.under_another_key, _forget_key_of_logs),
        (rules.forgettable, _delete_with_stack),
        (rules.impatient_queues, _hurry),
        (rules.half_reported_batches, _report_on_stream),
        (rules.half_reported_batches, _report_nothing),
        (rules.agents_without_dead_letters, _never_redrive),
        (rules.agents_without_dead_letters, _share_dead_letters),
        (rules.local_variables, _set_variable("BELLHOP_CLOCK_FILE", "/tmp/clock")),  # noqa: S108 - never opened
        (rules.local_variables, _set_variable("POWERTOOLS_IDEMPOTENCY_DISABLED", "1")),
        (rules.crowded_environments, _set_variable("LONG", "x" * 4096)),
    ],
)
def test_rule_finds_what_breaks_it(
    large: Template, rule: Rule, sabotage: Sabotage
) -> None:
    broken = large.copy()

    sabotage(broken)

    assert rule(large) == []
    assert rule(broken)
