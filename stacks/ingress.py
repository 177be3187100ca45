"""The public door: an HTTP API whose one route leads to the receiver."""

from __future__ import annotations

import json

from aws_cdk import aws_apigatewayv2 as apigateway
from aws_cdk import aws_apigatewayv2_integrations as integrations
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_logs as logs
from constructs import Construct

from lambdas.shared.observe import NAMESPACE
from lambdas.shared.settings import ReceiverSettings
from stacks import nag
from stacks.encryption import Encryption
from stacks.function import Function, Functions, make_log_group
from stacks.ledger import BODIES, Ledger
from stacks.secrets import Secrets

# 1,769 MB is one full core: a cold start is imports, and Slack waits 3 s.
_MEMORY_MB = 1769
# The slowest sender that matters gives up after 10 s (GitHub); no answer helps later.
_TIMEOUT_SECONDS = 10
# Enough for a burst of a busy organisation, far below an account's 1,000 concurrent
# functions: a flood at the door must leave room for the workers.
_REQUESTS_PER_SECOND = 500
_BURST = 500

# No query string: Twilio, Graph and others put tokens into it.
_ACCESS_LOG = {
    "request_id": "$context.requestId",
    "at": "$context.requestTime",
    "source_ip": "$context.identity.sourceIp",
    "method": "$context.httpMethod",
    "path": "$context.path",
    "status": "$context.status",
    "response_bytes": "$context.responseLength",
    "milliseconds": "$context.responseLatency",
    "integration_status": "$context.integrationStatus",
    # The receiver's own status; "-" where it was never asked.
    "receiver_status": "$context.integration.status",
    "integration_error": "$context.integrationErrorMessage",
}


# A 413 that is not the receiver's: more than API Gateway (10 MB) or Lambda (6 MB)
# takes. Nothing of ours has seen the request, so nothing else can tell of it.
_REFUSED_BODY = '{ $.status = "413" && $.receiver_status != "413" }'


class Ingress(Construct):
    """``ANY /webhooks/{source}``: verification is the receiver's, on the raw bytes."""

    def __init__(
        self,
        scope: Construct,
        id: str,
        *,
        functions: Functions,
        warm: int,
        reserved: int | None,
        ledger: Ledger,
        secrets: Secrets,
        encryption: Encryption,
    ) -> None:
        """Make the API and the receiver.

        ``warm`` receivers are kept started; ``reserved`` can always start.
        """
        super().__init__(scope, id)
        receiver = functions.make(
            self,
            "Receiver",
            name="receiver",
            settings=ReceiverSettings(
                ledger_table=ledger.table.table_name,
                payload_bucket=ledger.bucket.bucket_name,
            ),
            timeout_seconds=_TIMEOUT_SECONDS,
            memory_mb=_MEMORY_MB,
            reserved=reserved,
        )
        ledger.allow(receiver.role, "PutItem")
        ledger.allow_put(receiver.role, BODIES)
        secrets.allow_all(receiver.role)
        self.api = apigateway.HttpApi(
            self, "Api", description="Bellhop's webhooks", create_default_stage=False
        )
        self._make_route(_kept_warm(receiver, warm) if warm else receiver.function)
        self._make_stage(encryption)

    def _make_route(self, receiver: lambda_.IFunction) -> None:
        routes = self.api.add_routes(
            path="/webhooks/{source}",
            methods=[apigateway.HttpMethod.ANY],
            integration=integrations.HttpLambdaIntegration(
                "Receiver",
                receiver,
                payload_format_version=apigateway.PayloadFormatVersion.VERSION_2_0,
            ),
        )
        for route in routes:
            nag.accept(
                route,
                "APIG4",
                because="Senders sign the raw body, which an authorizer never sees: the"
                " receiver verifies it before anything else.",
            )

    def _make_stage(self, encryption: Encryption) -> None:
        log_group = make_log_group(self, "AccessLogs", encryption=encryption)
        logs.MetricFilter(
            self,
            "RefusedBodies",
            log_group=log_group,
            filter_pattern=logs.FilterPattern.literal(_REFUSED_BODY),
            metric_namespace=NAMESPACE,
            metric_name="GatewayRefusedBody",
            metric_value="1",
        )
        # L1: the L2 stage takes its log settings only as a class of its own.
        apigateway.CfnStage(
            self,
            "Stage",
            api_id=self.api.api_id,
            stage_name="$default",
            auto_deploy=True,
            default_route_settings=apigateway.CfnStage.RouteSettingsProperty(
                throttling_rate_limit=_REQUESTS_PER_SECOND,
                throttling_burst_limit=_BURST,
            ),
            access_log_settings=apigateway.CfnStage.AccessLogSettingsProperty(
                destination_arn=log_group.log_group_arn,
                format=json.dumps(_ACCESS_LOG),
            ),
        )


def _kept_warm(receiver: Function, warm: int) -> lambda_.Alias:
    return lambda_.Alias(
        receiver,
        "Warm",
        alias_name="warm",
        version=receiver.function.current_version,
        provisioned_concurrent_executions=warm,
    )
