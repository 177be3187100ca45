"""The shim changes of a template what the engine cannot take, and nothing else."""

from __future__ import annotations

import copy
from typing import Any

from local.deploy import adapt

TLS_ONLY = {
    "Effect": "Deny",
    "Principal": {"AWS": "*"},
    "Action": "sqs:*",
    "Resource": "*",
    "Condition": {"Bool": {"aws:SecureTransport": "false"}},
}
ALLOW = {"Effect": "Allow", "Action": "sqs:SendMessage", "Resource": "*"}


def template() -> dict[str, Any]:
    return {
        "Resources": {
            "Key": {"Type": "AWS::SecretsManager::Secret", "Properties": {}},
            "Policy": {
                "Type": "AWS::SQS::QueuePolicy",
                "Properties": {"PolicyDocument": {"Statement": [TLS_ONLY, ALLOW]}},
                "DependsOn": ["All", "Key"],
            },
            "All": {"Type": "AWS::CloudWatch::CompositeAlarm", "Properties": {}},
            "Reader": {
                "Type": "AWS::IAM::Policy",
                "Properties": {
                    "PolicyDocument": {
                        "Statement": [{"Effect": "Allow", "Resource": {"Ref": "Key"}}]
                    }
                },
            },
        },
        "Outputs": {"Key": {"Value": {"Ref": "Key"}}},
    }


def test_refused_types_are_left_out_and_nothing_waits_for_them() -> None:
    adapted, deviations = adapt(template(), is_judging=False)

    assert "All" not in adapted["Resources"]
    assert adapted["Resources"]["Policy"]["DependsOn"] == ["Key"]
    assert deviations == [
        "AWS::CloudWatch::CompositeAlarm is made by API, over the alarms that are there"
    ]


def test_alarm_over_an_expression_and_the_dashboard_are_left_out() -> None:
    """The engine takes alarms of one metric only; a dashboard names every alarm."""
    plain = {"Type": "AWS::CloudWatch::Alarm", "Properties": {"MetricName": "x"}}
    math = {"Type": "AWS::CloudWatch::Alarm", "Properties": {"Metrics": []}}
    page = {"Type": "AWS::CloudWatch::Dashboard", "Properties": {}}
    given = {"Resources": {"Plain": plain, "Math": math, "Page": page}}

    adapted, deviations = adapt(given, is_judging=False)

    assert list(adapted["Resources"]) == ["Plain"]
    assert deviations == [
        "AWS::CloudWatch::Alarm over an expression is left out: the engine has none",
        "AWS::CloudWatch::Dashboard is left out: the engine has none",
    ]


def test_ref_on_a_secret_becomes_its_arn_everywhere() -> None:
    adapted, _ = adapt(template(), is_judging=False)

    arn = {"Fn::GetAtt": ["Key", "Id"]}
    reader = adapted["Resources"]["Reader"]["Properties"]["PolicyDocument"]
    assert reader["Statement"][0]["Resource"] == arn
    assert adapted["Outputs"]["Key"]["Value"] == arn


def statements(adapted: dict[str, Any]) -> Any:
    policy = adapted["Resources"]["Policy"]["Properties"]
    return policy["PolicyDocument"]["Statement"]


def test_only_a_judging_engine_is_spared_the_denial_of_plain_http() -> None:
    open_, _ = adapt(template(), is_judging=False)
    judging, deviations = adapt(template(), is_judging=True)

    def statements(adapted: dict[str, Any]) -> Any:
        return adapted["Resources"]["Policy"]["Properties"]["PolicyDocument"][
            "Statement"
        ]

    assert statements(open_) == [TLS_ONLY, ALLOW]
    assert statements(judging) == [ALLOW]
    assert any("plain HTTP" in deviation for deviation in deviations)


def test_other_denials_stay() -> None:
    whole = template()
    other = {**TLS_ONLY, "Condition": {"StringEquals": {"aws:SourceAccount": "1"}}}
    document = whole["Resources"]["Policy"]["Properties"]["PolicyDocument"]
    document["Statement"] = [other]

    adapted, _ = adapt(whole, is_judging=True)

    assert statements(adapted) == [other]


def test_the_template_itself_is_not_touched() -> None:
    whole = template()
    before = copy.deepcopy(whole)

    adapt(whole, is_judging=True)

    assert whole == before


def test_what_runs_containers_is_left_out_with_the_alarms_of_it() -> None:
    """What still names one of them names nothing, and the role of the task stays."""
    cluster = {"Fn::GetAtt": ["Cluster", "Arn"]}
    protection = {"Effect": "Allow", "Resource": {"Fn::Join": ["", [cluster, "/*"]]}}
    given = {
        "Resources": {
            "Cluster": {"Type": "AWS::ECS::Cluster", "Properties": {}},
            "Net": {"Type": "AWS::EC2::VPC", "Properties": {}},
            "Busy": {
                "Type": "AWS::ApplicationAutoScaling::ScalingPolicy",
                "Properties": {},
            },
            "Work": {
                "Type": "AWS::CloudWatch::Alarm",
                "Properties": {"MetricName": "x", "AlarmActions": [{"Ref": "Busy"}]},
            },
            "Depth": {
                "Type": "AWS::CloudWatch::Alarm",
                "Properties": {"MetricName": "x", "AlarmActions": [{"Ref": "Topic"}]},
            },
            "Topic": {"Type": "AWS::SNS::Topic", "DependsOn": ["Net", "Role"]},
            "Role": {
                "Type": "AWS::IAM::Policy",
                "Properties": {"PolicyDocument": {"Statement": [protection, ALLOW]}},
            },
        },
        "Outputs": {"Cluster": {"Value": {"Ref": "Cluster"}}},
    }
    before = copy.deepcopy(given)

    adapted, deviations = adapt(given, is_judging=False)

    assert set(adapted["Resources"]) == {"Depth", "Topic", "Role"}
    assert adapted["Resources"]["Topic"]["DependsOn"] == ["Role"]
    policy = adapted["Resources"]["Role"]["Properties"]["PolicyDocument"]["Statement"]
    assert policy[0]["Resource"] == {"Fn::Join": ["", ["left-out", "/*"]]}
    assert policy[1] == ALLOW
    assert adapted["Outputs"] == {"Cluster": {"Value": "left-out"}}
    assert len(deviations) == 1
    assert given == before
