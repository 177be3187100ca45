"""The door into the stack, and the outputs that lead to everything else."""

from __future__ import annotations

import json

from tests.infra.template import Template, referred


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


def test_body_that_never_reaches_the_receiver_is_counted(template: Template) -> None:
    stage = template.only("ApiGatewayV2::Stage")
    logged = json.loads(stage.of("AccessLogSettings.Format"))
    counter = template.only("Logs::MetricFilter")
    (metric,) = counter.of("MetricTransformations")

    assert referred(counter.of("LogGroupName")) == referred(
        stage.of("AccessLogSettings.DestinationArn")
    )
    # The filter's fields are the log's: JSON texts, also where they hold a number.
    assert counter.of("FilterPattern") == (
        '{ $.status = "413" && $.receiver_status != "413" }'
    )
    assert logged["status"] == "$context.status"
    assert logged["receiver_status"] == "$context.integration.status"
    assert (metric["MetricNamespace"], metric["MetricName"], metric["MetricValue"]) == (
        "Bellhop",
        "GatewayRefusedBody",
        "1",
    )


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


def test_outputs_are_those_that_others_read(templates: dict[str, Template]) -> None:
    outputs = templates["small"].outputs()

    assert sorted(outputs) == [
        "AlarmTopic",
        "ApiUrl",
        "AsyncFailures",
        "BusName",
        "DeadLettersTriage",
        "LedgerTable",
        "PageTopic",
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


def test_agents_cannot_starve_the_door_where_it_was_chosen(
    templates: dict[str, Template],
) -> None:
    """Never unasked: a reservation fails the deployment of a small account."""
    reserved = {
        name: [
            each.id
            for each in template.all("Lambda::Function")
            if each.of("ReservedConcurrentExecutions") is not None
        ]
        for name, template in templates.items()
    }
    large = templates["large"].function("receiver")

    assert reserved.pop("large") == [large.id]
    assert not any(reserved.values())
    assert large.of("ReservedConcurrentExecutions") == 25
