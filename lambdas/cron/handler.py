"""Lambda's doorway to the ticks of the fleet's schedules."""

from __future__ import annotations

import functools
import os
from typing import TYPE_CHECKING, Any

from lambdas.cron.request import Request
from lambdas.shared import clock
from lambdas.shared.adapters import dynamodb
from lambdas.shared.fleet import deployed
from lambdas.shared.observe import logger
from lambdas.shared.settings import CronSettings
from lambdas.shared.ticks import Ticks

if TYPE_CHECKING:
    from aws_lambda_powertools.utilities.typing import LambdaContext


@functools.cache
def _ticks() -> Ticks:
    settings = CronSettings.from_env(os.environ)
    fleet = deployed()
    return Ticks(
        fleet=fleet,
        ledger=dynamodb.ledger(settings, ledger_days=fleet.ledger_days),
        table=dynamodb.table(settings),
        clock=clock.now,
    )


@logger.inject_lambda_context
def handle(event: dict[str, Any], context: LambdaContext) -> dict[str, str]:
    """Take one tick; an error makes Lambda bring it again, and then keep it."""
    ticks = _ticks()
    request = Request.read(event, ticks.fleet)
    return {"fired": ticks.fire(request.schedule, request.planned)}
