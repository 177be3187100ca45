"""Lambda's doorway to the planner: opened by its schedule, and by each task's own."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

from lambdas.planner import wiring
from lambdas.planner.planner import Planner
from lambdas.shared.observe import logger

if TYPE_CHECKING:
    from aws_lambda_powertools.utilities.typing import LambdaContext


@functools.cache
def _planner(function_arn: str) -> Planner:
    return wiring.planner(function_arn)


@logger.inject_lambda_context
def handle(event: dict[str, Any], context: LambdaContext) -> dict[str, str]:
    """Begin the task that the schedule names; without one, plan every calendar."""
    planner = _planner(context.invoked_function_arn)
    if "task" in event:
        told = event["calendar"], event["task"], event.get("planned", "")
        return {"task": planner.fire(*told)}
    return planner.look()
