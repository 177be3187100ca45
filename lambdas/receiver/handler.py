"""The receiver's doorway: API Gateway's requests to ``ANY /webhooks/{source}``."""

from __future__ import annotations

import functools
import os
from typing import TYPE_CHECKING, Any

from lambdas.receiver.intake import Intake
from lambdas.shared import clock, fleet
from lambdas.shared.adapters import dynamodb, https
from lambdas.shared.adapters.secretsmanager import SecretsManager
from lambdas.shared.fetch import Fetcher
from lambdas.shared.observe import logger
from lambdas.shared.secrets import Secrets
from lambdas.shared.settings import ReceiverSettings

if TYPE_CHECKING:
    from aws_lambda_powertools.utilities.typing import LambdaContext


@functools.cache
def _intake() -> Intake:
    settings = ReceiverSettings.from_env(os.environ)
    deployed = fleet.deployed()
    return Intake(
        fleet=deployed,
        ledger=dynamodb.ledger(settings, ledger_days=deployed.ledger_days),
        secrets=Secrets(SecretsManager(), clock.now),
        clock=clock.now,
        fetch=Fetcher(https.get, clock.now),
    )


@logger.inject_lambda_context
def handle(event: dict[str, Any], context: LambdaContext) -> dict[str, Any]:
    """Verify, write down, answer."""
    return _intake().answer(event)
