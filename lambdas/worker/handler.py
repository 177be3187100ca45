"""Lambda's doorway to a worker: messages of one agent's queue."""

from __future__ import annotations

import functools
import os
from typing import TYPE_CHECKING, Any

from aws_lambda_powertools.utilities.batch import EventType, process_partial_response

from lambdas.shared.observe import logger
from lambdas.shared.settings import WorkerSettings
from lambdas.worker.worker import SideBySide, Worker, from_settings

if TYPE_CHECKING:
    from aws_lambda_powertools.utilities.batch.types import PartialItemFailureResponse
    from aws_lambda_powertools.utilities.typing import LambdaContext


@functools.cache
def _worker() -> Worker:
    return from_settings(WorkerSettings.from_env(os.environ))


@logger.inject_lambda_context
def handle(event: dict[str, Any], context: LambdaContext) -> PartialItemFailureResponse:
    """Run what the messages carry; those not done come back, each by itself."""
    processor = SideBySide(EventType.SQS, raise_on_entire_batch_failure=False)
    return process_partial_response(event, _worker().take, processor, context)
