"""Puts the planner together for Lambda."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping

from lambdas.planner import bounded
from lambdas.planner.google.api import Api
from lambdas.planner.ical import utc_or
from lambdas.planner.planner import Feed, Planner
from lambdas.planner.rules import Rules
from lambdas.planner.sources import GoogleFeed, IcalFeed
from lambdas.shared import clock
from lambdas.shared.adapters import aws, dynamodb, google, https
from lambdas.shared.adapters.s3 import S3Bodies
from lambdas.shared.adapters.secretsmanager import SecretsManager
from lambdas.shared.adapters.timetable import OneOffs
from lambdas.shared.fleet import Calendar, deployed
from lambdas.shared.ledger import Bodies
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
        feeds=feeds(
            lambda name: secrets.get(name).current, S3Bodies(settings.payload_bucket)
        ),
        rules_of=rules_of,
        clock=clock.now,
    )


def feeds(secret_of: Callable[[str], str], bodies: Bodies) -> Mapping[str, Feed]:
    """Return how each kind of feed is read: ``feed`` in ``fleet.toml``."""
    return {
        "ical": IcalFeed(
            address_of=secret_of,
            exchange=https.exchange,
            bodies=bodies,
            expand=bounded.expand,
        ),
        "google": GoogleFeed(
            key_of=secret_of,
            api=Api(exchange=https.exchange, token_of=google.Tokens().get),
            bodies=bodies,
            expand=bounded.expand,
        ),
    }


def rules_of(calendar: Calendar) -> Rules:
    """Return the rules of a calendar, by the clocks of its own zone."""
    return Rules(calendar, utc_or(calendar.timezone))
