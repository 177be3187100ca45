"""Lambda's doorway to the poller: opened by each feed's own schedule."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

from lambdas.poller import wiring
from lambdas.poller.poller import Poller
from lambdas.shared.observe import logger

if TYPE_CHECKING:
    from aws_lambda_powertools.utilities.typing import LambdaContext


@functools.cache
def _poller() -> Poller:
    return wiring.poller()


@logger.inject_lambda_context
def handle(event: dict[str, Any], _: LambdaContext) -> dict[str, Any]:
    """Look at the feed that the schedule names."""
    return _poller().poll(event["source"])
