"""The key's own policy: each service, for our resources alone."""

from __future__ import annotations

import pytest

from tests.infra.template import Template, shown


@pytest.mark.parametrize(
    ("service", "arn"),
    [
        ("events", "events:${AWS::Region}:${AWS::AccountId}:rule/*Bellhop-*"),
        ("cloudwatch", "cloudwatch:${AWS::Region}:${AWS::AccountId}:alarm:Bellhop-*"),
        ("lambda", "lambda:${AWS::Region}:${AWS::AccountId}:event-source-mapping:*"),
    ],
)
def test_key_serves_a_service_only_for_our_resources(
    template: Template, service: str, arn: str
) -> None:
    (statement,) = [
        each
        for each in template.key_policy()
        if each.principals == (f"{service}.amazonaws.com",)
    ]

    assert statement.effect == "Allow"
    assert set(statement.actions) == {"kms:Decrypt", "kms:GenerateDataKey"}
    assert statement.conditions == {
        "aws:SourceAccount": ("${AWS::AccountId}",),
        "aws:SourceArn": (f"arn:${{AWS::Partition}}:{arn}",),
    }


def test_key_serves_the_logs_of_this_region_and_stack(template: Template) -> None:
    """CloudWatch Logs sends no SourceArn; the group is in the encryption context."""
    (statement,) = [
        each
        for each in template.key_policy()
        if each.principals == ("logs.${AWS::Region}.amazonaws.com",)
    ]

    assert {"kms:Encrypt", "kms:Decrypt", "kms:GenerateDataKey"} <= set(
        statement.actions
    )
    assert statement.conditions == {
        "kms:EncryptionContext:aws:logs:arn": (
            "arn:${AWS::Partition}:logs:${AWS::Region}:${AWS::AccountId}"
            ":log-group:Bellhop-*",
        )
    }


def test_key_serves_each_schedules_role_through_sqs_alone(template: Template) -> None:
    for schedule in template.all("Scheduler::Schedule"):
        role = shown(schedule.of("Target.RoleArn"))
        (statement,) = [e for e in template.key_policy() if e.principals == (role,)]

        assert set(statement.actions) == {"kms:Decrypt", "kms:GenerateDataKey"}
        assert statement.conditions == {
            "kms:ViaService": ("sqs.${AWS::Region}.amazonaws.com",)
        }


def test_key_is_everything_to_the_account_alone(template: Template) -> None:
    (statement,) = [e for e in template.key_policy() if "kms:*" in e.actions]

    root = "arn:${AWS::Partition}:iam::${AWS::AccountId}:root"
    assert statement.principals == (root,)


def test_nobody_uses_the_key_but_through_one_service(template: Template) -> None:
    """A role that may decrypt could else decrypt whatever it gets hold of."""
    for role in template.all("IAM::Role"):
        for statement in template.granted(role.id):
            if any(action.startswith("kms:") for action in statement.actions):
                assert len(statement.conditions["kms:ViaService"]) == 1


def test_key_names_whoever_may_use_it(template: Template) -> None:
    """``*`` would be anybody on earth whose request meets the conditions."""
    for statement in template.key_policy():
        assert statement.principals
        assert "*" not in statement.principals
