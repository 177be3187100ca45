"""Puts the planner together for Lambda."""

from __future__ import annotations

import os

from lambdas.planner import bounded
from lambdas.planner.ical import utc_or
from lambdas.planner.planner import Planner
from lambdas.planner.rules import Rules
from lambdas.planner.sources import IcalFeed
from lambdas.shared import clock
from lambdas.shared.adapters import aws, dynamodb, https
from lambdas.shared.adapters.s3 import S3Bodies
from lambdas.shared.adapters.secretsmanager import SecretsManager
from lambdas.shared.adapters.timetable import OneOffs
from lambdas.shared.fleet import Calendar, deployed
from lambdas.shared.secrets import Secrets
from lambdas.shared.settings import PlannerSettings


def planner(function_arn: str) -> Planner:
    """Return the planner of this deployment, whose schedules call ``function_arn``."""
    settings = PlannerSettings.from_env(os.environ)
    fleet = deployed()
    secrets = Secrets(SecretsManager(), clock.now)
    return Planner(
        fleet=fleet,
        ledger=dynamodb.ledger(settings, ledger_days=fleet.ledger_days),
        table=dynamodb.table(settings),
        timetable=OneOffs(
            lambda: aws.client("scheduler"),
            group=settings.schedule_group,
            target_arn=function_arn,
            role_arn=settings.schedule_role,
            failures_arn=settings.schedule_failures,
        ),
        feeds={
            "ical": IcalFeed(
                address_of=lambda name: secrets.get(name).current,
                exchange=https.exchange,
                bodies=S3Bodies(settings.payload_bucket),
                expand=bounded.expand,
            )
        },
        rules_of=rules_of,
        clock=clock.now,
    )


def rules_of(calendar: Calendar) -> Rules:
    """Return the rules of a calendar, by the clocks of its own zone."""
    return Rules(calendar, utc_or(calendar.timezone))
