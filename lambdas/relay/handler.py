"""Lambda's doorway to the relay: batches of the ledger's stream."""

from __future__ import annotations

import functools
import os
from typing import TYPE_CHECKING, Any

from lambdas.relay.relay import Relay
from lambdas.shared import clock
from lambdas.shared.adapters import dynamodb
from lambdas.shared.adapters.eventbridge import EventBridge
from lambdas.shared.adapters.queues import SqsParked
from lambdas.shared.fleet import deployed
from lambdas.shared.observe import logger
from lambdas.shared.settings import RelaySettings

if TYPE_CHECKING:
    from aws_lambda_powertools.utilities.typing import LambdaContext


@functools.cache
def _relay() -> Relay:
    settings = RelaySettings.from_env(os.environ)
    fleet = deployed()
    return Relay(
        fleet.agents.values(),
        bus=EventBridge(settings.bus_name),
        ledger=dynamodb.ledger(settings, ledger_days=fleet.ledger_days),
        parked=SqsParked(settings.parked_queue_url),
        clock=clock.now,
    )


@logger.inject_lambda_context
def handle(event: dict[str, Any], context: LambdaContext) -> None:
    """Relay one batch; an error makes Lambda bring all of it again."""
    _relay().carry(event["Records"])
