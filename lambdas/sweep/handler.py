"""Lambda's doorway to the sweep, which a schedule opens every 15 minutes."""

from __future__ import annotations

import functools
import os
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from lambdas.shared.fleet import deployed
from lambdas.shared.observe import logger
from lambdas.shared.settings import SweepSettings
from lambdas.sweep import wiring
from lambdas.sweep.sweep import Sweep

if TYPE_CHECKING:
    from aws_lambda_powertools.utilities.typing import LambdaContext

# What one full window may take to read and relay.
_WINDOW_MS = 60_000


@functools.cache
def _sweep() -> Sweep:
    return wiring.sweep(SweepSettings.from_env(os.environ), deployed())


@logger.inject_lambda_context
def handle(event: dict[str, Any], context: LambdaContext) -> dict[str, int]:
    """Sweep what has settled; the answer is for a person who calls it by hand."""
    tally = _sweep().run(
        context.aws_request_id,
        has_time=lambda: context.get_remaining_time_in_millis() > _WINDOW_MS,
    )
    return asdict(tally)
