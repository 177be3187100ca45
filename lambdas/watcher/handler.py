"""Lambda's doorway to the watcher, which a schedule opens every 5 minutes."""

from __future__ import annotations

import functools
import os
from typing import TYPE_CHECKING, Any

from lambdas.shared import clock
from lambdas.shared.adapters import dynamodb
from lambdas.shared.fleet import deployed
from lambdas.shared.observe import logger
from lambdas.shared.settings import WatcherSettings
from lambdas.shared.ticks import Ticks
from lambdas.watcher.watcher import Watcher

if TYPE_CHECKING:
    from aws_lambda_powertools.utilities.typing import LambdaContext


@functools.cache
def _watcher() -> Watcher:
    settings = WatcherSettings.from_env(os.environ)
    fleet = deployed()
    table = dynamodb.table(settings)
    ledger = dynamodb.ledger(settings, ledger_days=fleet.ledger_days)
    ticks = Ticks(fleet=fleet, ledger=ledger, table=table, clock=clock.now)
    return Watcher(ticks, delete=table.delete)


@logger.inject_lambda_context
def handle(event: dict[str, Any], context: LambdaContext) -> dict[str, int]:
    """Look at every schedule; the answer is for a person who calls it by hand."""
    return _watcher().look()
