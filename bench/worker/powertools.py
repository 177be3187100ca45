"""The peer: Powertools as its guides show it, one record after another.

Settings: ``BatchProcessor`` over ``idempotent_function`` with a
``DynamoDBPersistenceLayer``, both on their defaults but for the expiry; a
Powertools logger writes one line per record; no event is fetched.
"""

from __future__ import annotations

import itertools
import json
from typing import Any

from aws_lambda_powertools import Logger
from aws_lambda_powertools.utilities.batch import (
    BatchProcessor,
    EventType,
    process_partial_response,
)
from aws_lambda_powertools.utilities.data_classes.sqs_event import SQSRecord
from aws_lambda_powertools.utilities.idempotency import (
    DynamoDBPersistenceLayer,
    IdempotencyConfig,
    idempotent_function,
)

from bench.contest import serve
from bench.made import Context, message

_numbers = itertools.count()
_logger = Logger(service="peer")
_config = IdempotencyConfig(expires_after_seconds=24 * 3600)


@idempotent_function(  # type: ignore[untyped-decorator]  # Powertools'
    data_keyword_argument="event_id",
    persistence_store=DynamoDBPersistenceLayer(table_name="peer"),
    config=_config,
)
def _once(*, event_id: str) -> None:
    _logger.info("done", extra={"event_id": event_id})


def _take(record: SQSRecord) -> None:
    _once(event_id=json.loads(record.body)["detail"]["event_id"])


@_logger.inject_lambda_context
def _handle(event: dict[str, Any], context: Any) -> Any:
    _config.register_lambda_context(context)
    processor = BatchProcessor(EventType.SQS)
    return process_partial_response(event, _take, processor, context)


def _prepare() -> dict[str, Any]:
    return {"Records": [message(f"peer:{next(_numbers)}") for _ in range(10)]}


def _work(batch: dict[str, Any]) -> None:
    answer = _handle(batch, Context())
    if answer["batchItemFailures"]:
        raise RuntimeError(answer)


if __name__ == "__main__":
    serve(_prepare, _work)
