"""What holds in the template of every fleet; the small and the large one stand for all.

Much of it the local engine drops (TTL, PITR, lifecycle, zones, failure
destinations): nothing else would notice that it is gone.
"""

from __future__ import annotations

import json

import pytest

from lambdas.shared.fleet import DLQ_RETENTION_DAYS, QUEUE_RETENTION_DAYS
from tests.infra import rules
from tests.infra.conftest import AGENTS
from tests.infra.template import Resource, Template, referred, shown

DAY = 86_400
LEDGER_DAYS = {"small": 45, "large": 60}


def test_every_writer_can_write_to_its_failure_queue(template: Template) -> None:
    """The queue's permission and the key's: CDK grants the second to nobody."""
    assert len(list(rules.writers(template))) >= 5
    assert rules.unwritable_queues(template) == []


def test_no_role_may_do_everything_or_anything_to_everything(
    template: Template,
) -> None:
    assert rules.unlimited_grants(template) == []


def test_queues_and_bucket_refuse_plain_text(template: Template) -> None:
    assert rules.plain_text_doors(template) == []


def test_everything_at_rest_lies_under_the_fleets_key(template: Template) -> None:
    assert rules.under_another_key(template) == []
    assert template.only("KMS::Key").of("EnableKeyRotation") is True


def test_what_holds_state_outlives_the_stack(template: Template) -> None:
    assert rules.forgettable(template) == []
    assert template.only("DynamoDB::Table").of("DeletionProtectionEnabled") is True


def test_visibility_is_six_function_timeouts(template: Template) -> None:
    assert template.mappings(streams=False)
    assert rules.impatient_queues(template) == []


def test_one_bad_message_does_not_fail_its_neighbours(template: Template) -> None:
    """On queues only: on a stream, a reported record holds up everything behind it."""
    assert template.mappings(streams=True)
    assert rules.half_reported_batches(template) == []


def test_every_agents_queue_has_dead_letters_of_its_own(template: Template) -> None:
    assert rules.agents_without_dead_letters(template) == []


def test_no_local_variable_reaches_aws(template: Template) -> None:
    assert rules.local_variables(template) == []


def test_variables_fit_into_lambdas_4_kb(template: Template) -> None:
    assert rules.crowded_environments(template) == []


def test_a_fleet_of_38_agents_fits_one_stack(large: Template) -> None:
    """About ten resources per agent, and room for a change below the 500."""
    assert len(large.functions("worker")) == AGENTS
    assert len(large.body["Resources"]) <= 450


# The key's own policy


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


# Ledger and payloads


def test_ledger_keeps_its_logical_ids(template: Template) -> None:
    """A changed id would replace the resource and forget what was already done."""
    ids = {
        kind: template.only(kind).id
        for kind in ("DynamoDB::Table", "S3::Bucket", "KMS::Key")
    }

    assert ids == {
        "DynamoDB::Table": "LedgerTable9343E4AA",
        "S3::Bucket": "LedgerPayloadsC4CC5844",
        "KMS::Key": "EncryptionKey3A692D6E",
    }


def test_an_agents_queues_keep_their_logical_ids(
    templates: dict[str, Template],
) -> None:
    queues = {each.id for each in templates["small"].all("SQS::Queue")}

    assert queues == {
        "FailureQueuesAsync0DA4D9AD",
        "FailureQueuesRelayParkedD9B27DCA",
        "FailureQueuesRules625CA562",
        "FailureQueuesSchedules2D79C3A8",
        "WorkersTriageDeadLetters87AB2BE4",
        "WorkersTriageQueueBB340949",
    }


def test_ledger_expires_streams_and_can_be_restored(template: Template) -> None:
    table = template.only("DynamoDB::Table")

    assert table.of("TimeToLiveSpecification") == {
        "AttributeName": "expires_at",
        "Enabled": True,
    }
    assert table.of("StreamSpecification.StreamViewType") == "NEW_IMAGE"
    restore = table.of("PointInTimeRecoverySpecification.PointInTimeRecoveryEnabled")
    assert restore is True
    assert table.of("BillingMode") == "PAY_PER_REQUEST"


def test_ledger_has_the_two_indexes_that_it_is_read_by(template: Template) -> None:
    table = template.only("DynamoDB::Table")
    definitions = table.of("AttributeDefinitions")
    types = {each["AttributeName"]: each["AttributeType"] for each in definitions}
    keys = {
        index["IndexName"]: [key["AttributeName"] for key in index["KeySchema"]]
        for index in table.of("GlobalSecondaryIndexes")
    }
    projections = [index["Projection"] for index in table.of("GlobalSecondaryIndexes")]

    assert keys == {
        "by-time": ["accepted", "received_at"],
        "by-state": ["attention", "finished_at"],
    }
    assert types["finished_at"] == "N"
    assert types["received_at"] == "S"
    assert projections == [{"ProjectionType": "KEYS_ONLY"}] * 2


@pytest.mark.parametrize("name", sorted(LEDGER_DAYS))
def test_payloads_outlive_row_and_dead_letter(
    templates: dict[str, Template], name: str
) -> None:
    bucket = templates[name].only("S3::Bucket")
    (rule,) = bucket.of("LifecycleConfiguration.Rules")

    assert rule["Status"] == "Enabled"
    assert "Prefix" not in rule
    assert rule["ExpirationInDays"] > LEDGER_DAYS[name] + DLQ_RETENTION_DAYS
    assert LEDGER_DAYS[name] > DLQ_RETENTION_DAYS + QUEUE_RETENTION_DAYS


def test_payloads_are_nobody_elses(template: Template) -> None:
    bucket = template.only("S3::Bucket")

    assert set(bucket.of("PublicAccessBlockConfiguration").values()) == {True}
    ownership = bucket.of("OwnershipControls.Rules")
    assert ownership == [{"ObjectOwnership": "BucketOwnerEnforced"}]


# Queues


def test_failure_queues_keep_what_they_get_for_two_weeks(template: Template) -> None:
    fed = {referred(e.of("EventSourceArn")) for e in template.mappings(streams=False)}
    others = [e for e in template.all("SQS::Queue") if e.id not in fed]

    kept = {each.of("MessageRetentionPeriod") for each in others}
    assert kept == {DLQ_RETENTION_DAYS * DAY}


def test_no_queue_lies_under_awss_own_key(template: Template) -> None:
    """A rule's target under alias/aws/sqs synthesises, deploys and drops silently."""
    for queue in template.all("SQS::Queue"):
        assert referred(queue.of("KmsMasterKeyId"))


# Rules, stream and schedules


def test_no_rule_is_a_clock(template: Template) -> None:
    """A rule's cron knows UTC only; schedules belong to EventBridge Scheduler."""
    for rule in template.all("Events::Rule"):
        assert rule.of("ScheduleExpression") is None


def test_every_rule_has_a_pattern_and_does_not_transform(template: Template) -> None:
    for rule in template.all("Events::Rule"):
        assert rule.of("EventPattern.source")
        for target in rule.of("Targets"):
            assert not {"Input", "InputPath", "InputTransformer"} & set(target)


def test_awss_own_events_come_from_the_default_bus(large: Template) -> None:
    buses = {
        rule.of("EventPattern.source")[0]: shown(rule.of("EventBusName"))
        for rule in large.all("Events::Rule")
    }

    bus = large.only("Events::EventBus").id
    assert buses["aws.s3"] == "default"
    assert buses["bellhop.stripe"] == f"${{{bus}}}"


def test_stream_is_retried_until_it_forgets_and_then_kept(template: Template) -> None:
    """Bisected, so that one bad record is parked alone; a bucket keeps it whole."""
    (stream,) = template.mappings(streams=True)
    role = template.role_of(referred(stream.of("FunctionName")))
    bucket = template.only("S3::Bucket").id

    assert stream.of("StartingPosition") == "TRIM_HORIZON"
    assert stream.of("BisectBatchOnFunctionError") is True
    assert stream.of("MaximumRetryAttempts") == -1
    assert stream.of("MaximumRecordAgeInSeconds") == DAY
    assert referred(stream.of("DestinationConfig.OnFailure.Destination")) == bucket
    assert _may(template, role, "s3:PutObject", f"${{{bucket}.Arn}}/aws/lambda/*")
    assert _may(template, role, "s3:ListBucket", f"${{{bucket}.Arn}}")


def test_stream_carries_new_events_of_the_door_alone(template: Template) -> None:
    (stream,) = template.mappings(streams=True)
    (only,) = stream.of("FilterCriteria.Filters")

    assert json.loads(only["Pattern"]) == {
        "eventName": ["INSERT"],
        "dynamodb": {
            "Keys": {"sk": {"S": ["event"]}},
            "NewImage": {"via": {"S": ["door"]}},
        },
    }


def test_sweep_comes_every_quarter_hour_and_never_late(template: Template) -> None:
    """A late one would look at its successor's window."""
    schedule = template.only("Scheduler::Schedule")
    (config,) = template.all("Lambda::EventInvokeConfig")
    sweep = template.function("sweep")

    assert schedule.of("ScheduleExpression") == "rate(15 minutes)"
    assert schedule.of("Target.RetryPolicy.MaximumEventAgeInSeconds") < 15 * 60
    assert config.of("MaximumEventAgeInSeconds") < 15 * 60
    assert config.of("MaximumRetryAttempts") == 2
    assert referred(config.of("FunctionName")) == sweep.id
    assert referred(schedule.of("Target.Arn")) == sweep.id


def test_scheduler_may_act_only_for_our_schedules(template: Template) -> None:
    schedule = template.only("Scheduler::Schedule")
    role = template[referred(schedule.of("Target.RoleArn"))]
    (trust,) = role.of("AssumeRolePolicyDocument.Statement")

    equal = trust["Condition"]["StringEquals"]
    assert shown(equal["aws:SourceAccount"]) == "${AWS::AccountId}"
    assert referred(equal["aws:SourceArn"]) == referred(schedule.of("GroupName"))


# Functions


def test_every_function_has_a_role_and_a_log_group_of_its_own(
    template: Template,
) -> None:
    functions = template.all("Lambda::Function")
    roles = [referred(each.of("Role")) for each in functions]
    groups = [referred(each.of("LoggingConfig.LogGroup")) for each in functions]

    assert len(set(roles)) == len(set(groups)) == len(functions)
    assert {template[group].type for group in groups} == {"AWS::Logs::LogGroup"}


def test_every_log_group_forgets(template: Template) -> None:
    for group in template.all("Logs::LogGroup"):
        assert group.of("RetentionInDays") == 90


def test_every_function_runs_on_the_one_runtime(template: Template) -> None:
    functions = template.all("Lambda::Function")

    assert {each.of("Runtime") for each in functions} == {"python3.13"}
    assert {tuple(each.of("Architectures")) for each in functions} == {("arm64",)}


def test_receiver_may_write_events_and_read_the_sources_secrets(
    template: Template,
) -> None:
    role = template.role_of(template.function("receiver").id)
    secrets = {f"${{{each.id}}}" for each in template.all("SecretsManager::Secret")}

    assert _doings(template, role, "dynamodb:") == {"dynamodb:PutItem"}
    assert _doings(template, role, "s3:") == {"s3:PutObject"}
    assert _doings(template, role, "sqs:") == set()
    assert _doings(template, role, "events:") == set()
    assert _things(template, role, "secretsmanager:GetSecretValue") == secrets


@pytest.mark.parametrize("handler", ["receiver", "worker", "relay", "sweep"])
def test_nobody_may_scan_or_delete(template: Template, handler: str) -> None:
    for function in template.functions(handler):
        doings = _doings(template, template.role_of(function.id), "")

        assert not {each for each in doings if "Scan" in each or "DeleteItem" in each}
        assert not {each for each in doings if "DeleteObject" in each}


def test_worker_may_touch_its_own_queue_alone(template: Template) -> None:
    for mapping in template.mappings(streams=False):
        role = template.role_of(referred(mapping.of("FunctionName")))
        queue = f"${{{referred(mapping.of('EventSourceArn'))}.Arn}}"

        assert _things(template, role, "sqs:ReceiveMessage") == {queue}
        assert _things(template, role, "sqs:ChangeMessageVisibility") == {queue}
        assert _things(template, role, "sqs:SendMessage") == set()


def test_agents_grants_widen_its_own_role_alone(large: Template) -> None:
    wide = _worker(large, "wide")
    other = _worker(large, "agent-with-quite-a-long-name-0")
    secret = "arn:${AWS::Partition}:secretsmanager:${AWS::Region}:${AWS::AccountId}"
    stripe = next(
        each.id
        for each in large.all("SecretsManager::Secret")
        if each.of("Name") == "bellhop/stripe"
    )

    role, others = large.role_of(wide.id), large.role_of(other.id)
    assert _may(large, role, "s3:GetObject", "arn:aws:s3:::b/key")
    assert _things(large, role, "secretsmanager:GetSecretValue") == {
        f"{secret}:secret:bellhop/github-token-??????",
        f"${{{stripe}}}",
    }
    assert wide.of("Environment.Variables.MODEL") == "small"
    assert _doings(large, others, "secretsmanager:") == set()
    assert not _may(large, others, "s3:GetObject", "arn:aws:s3:::b/key")


def test_every_source_has_the_secret_it_names(large: Template) -> None:
    names = [each.of("Name") for each in large.all("SecretsManager::Secret")]

    assert sorted(names) == [
        "bellhop/github",
        "bellhop/linear",
        "bellhop/slack",
        "bellhop/stripe",
        "github/eu",
    ]


def test_an_unset_secret_is_random_and_in_no_template(template: Template) -> None:
    for secret in template.all("SecretsManager::Secret"):
        assert secret.of("GenerateSecretString") is not None
        assert secret.of("SecretString") is None


# The door


def test_every_webhook_reaches_the_receiver(template: Template) -> None:
    route = template.only("ApiGatewayV2::Route")
    integration = template[referred(route.of("Target"))]

    assert route.of("RouteKey") == "ANY /webhooks/{source}"
    assert route.of("AuthorizationType") == "NONE"
    assert integration.of("IntegrationType") == "AWS_PROXY"
    assert integration.of("PayloadFormatVersion") == "2.0"


def test_access_log_holds_no_query_string(template: Template) -> None:
    stage = template.only("ApiGatewayV2::Stage")
    fields = json.loads(stage.of("AccessLogSettings.Format"))

    assert referred(stage.of("AccessLogSettings.DestinationArn"))
    assert {"path", "status", "request_id", "source_ip"} <= set(fields)
    assert not [v for v in fields.values() if "query" in v.lower() or "Uri" in v]


def test_door_is_throttled(template: Template) -> None:
    settings = template.only("ApiGatewayV2::Stage").of("DefaultRouteSettings")

    assert 0 < settings["ThrottlingRateLimit"] <= 1000
    assert 0 < settings["ThrottlingBurstLimit"] <= 1000


def test_receiver_is_kept_warm_where_the_fleet_says_so(
    templates: dict[str, Template],
) -> None:
    (alias,) = templates["large"].all("Lambda::Alias")

    provisioned = alias.of("ProvisionedConcurrencyConfig")
    assert provisioned == {"ProvisionedConcurrentExecutions": 1}
    assert alias.id in {
        referred(each.of("IntegrationUri"))
        for each in templates["large"].all("ApiGatewayV2::Integration")
    }
    assert templates["small"].all("Lambda::Alias") == []


def test_receiver_has_a_full_core(template: Template) -> None:
    assert template.function("receiver").of("MemorySize") == 1769


# What leaves the stack


def test_outputs_are_those_that_others_read(templates: dict[str, Template]) -> None:
    outputs = templates["small"].outputs()

    assert sorted(outputs) == [
        "ApiUrl",
        "AsyncFailures",
        "BusName",
        "DeadLettersTriage",
        "LedgerTable",
        "PayloadBucket",
        "QueueTriage",
        "RelayParked",
        "RuleDeadLetters",
        "ScheduleDeadLetters",
    ]
    assert outputs["ApiUrl"].endswith(".ApiEndpoint}")


def test_a_pinned_fleet_refuses_every_other_region(
    templates: dict[str, Template],
) -> None:
    (assertion,) = templates["large"].body["Rules"]["Region"]["Assertions"]

    assert assertion["Assert"] == {
        "Fn::Equals": [{"Ref": "AWS::Region"}, "eu-central-1"]
    }
    assert "Region" not in templates["small"].body.get("Rules", {})


def test_template_knows_neither_account_nor_region(template: Template) -> None:
    """One assembly deploys anywhere; what it is pinned to is said in a rule."""
    resources = json.dumps(template.body["Resources"])

    assert "eu-central-1" not in resources
    assert "us-east-1" not in resources


def _worker(template: Template, agent: str) -> Resource:
    (found,) = [
        each
        for each in template.functions("worker")
        if each.of("Environment.Variables.AGENT_NAME") == agent
    ]
    return found


def _doings(template: Template, role: str, service: str) -> set[str]:
    return {
        action
        for statement in template.granted(role)
        for action in statement.actions
        if action.startswith(service)
    }


def _things(template: Template, role: str, action: str) -> set[str]:
    return {
        resource
        for statement in template.granted(role)
        if action in statement.actions
        for resource in statement.resources
    }


def _may(template: Template, role: str, action: str, resource: str) -> bool:
    return resource in _things(template, role, action)
