"""No service acts on ours for another account: SourceArn, SourceAccount."""

from __future__ import annotations

from collections.abc import Iterator

from tests.infra.template import Resource, Statement, Template, referred

SOURCES = {"aws:SourceArn", "aws:SourceAccount", "AWS:SourceArn", "AWS:SourceAccount"}
# Lambda takes on a function's role for that function alone; its trust policy takes
# no source. CloudWatch Logs names the log group in the context of encryption.
LAMBDA_ROLE = "lambda.amazonaws.com"
# Nor is one documented for the role that ECS pulls images and writes logs with.
STARTER = "ecs-tasks.amazonaws.com"
LOG_GROUP = "kms:EncryptionContext:aws:logs:arn"


def admitted(template: Template) -> Iterator[tuple[Resource, Statement]]:
    """Every statement that lets a service of AWS do something."""
    for resource in template.resources():
        for document in ("PolicyDocument", "KeyPolicy", "AssumeRolePolicyDocument"):
            for body in resource.of(f"{document}.Statement") or []:
                if "Service" in body.get("Principal", {}) and body["Effect"] == "Allow":
                    yield resource, Statement.read(body)


def test_every_service_is_held_to_resources_of_ours(template: Template) -> None:
    starters = {
        referred(task.of("ExecutionRoleArn"))
        for task in template.all("ECS::TaskDefinition")
    }
    seen = set()
    for resource, statement in admitted(template):
        (service,) = statement.principals
        seen.add((resource.type, service))
        if resource.type == "AWS::IAM::Role" and service == LAMBDA_ROLE:
            continue
        if service == STARTER and resource.id in starters:
            continue
        if service.startswith("logs."):
            (groups,) = statement.conditions[LOG_GROUP]
            assert groups.endswith("log-group:Bellhop-*")
            continue
        assert SOURCES & statement.conditions.keys(), (resource.id, service)

    assert ("AWS::KMS::Key", "events.amazonaws.com") in seen
    assert ("AWS::SNS::TopicPolicy", "cloudwatch.amazonaws.com") in seen
    assert ("AWS::IAM::Role", "scheduler.amazonaws.com") in seen
    assert ("AWS::SQS::QueuePolicy", "events.amazonaws.com") in seen


def test_functions_may_be_called_by_our_own_api_alone(template: Template) -> None:
    permissions = template.all("Lambda::Permission")

    assert permissions
    for permission in permissions:
        assert permission.of("SourceArn") or permission.of("SourceAccount")
        assert permission.of("Principal") == "apigateway.amazonaws.com"


def test_the_door_is_throttled_and_keeps_an_access_log(template: Template) -> None:
    stage = template.only("ApiGatewayV2::Stage")

    assert 0 < stage.of("DefaultRouteSettings.ThrottlingRateLimit") <= 1_000
    assert 0 < stage.of("DefaultRouteSettings.ThrottlingBurstLimit") <= 1_000
    text = stage.of("AccessLogSettings.Format")
    # Some senders put tokens into the query.
    assert "query" not in text.lower()
    assert "authorization" not in text.lower()


def test_every_log_group_forgets(template: Template) -> None:
    groups = template.all("Logs::LogGroup")

    assert len(groups) > len(template.all("Lambda::Function"))
    assert all(0 < (group.of("RetentionInDays") or 0) <= 90 for group in groups)
