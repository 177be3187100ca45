"""Lambda's doorway to the digest, which a schedule opens every morning."""

from __future__ import annotations

import functools
import os
from typing import TYPE_CHECKING, Any

from lambdas.dlq_digest import wiring
from lambdas.shared.fleet import deployed
from lambdas.shared.observe import logger
from lambdas.shared.settings import DigestSettings

if TYPE_CHECKING:
    from aws_lambda_powertools.utilities.typing import LambdaContext

    from lambdas.dlq_digest.digest import Morning


@functools.cache
def _morning() -> Morning:
    return wiring.morning(DigestSettings.from_env(os.environ), deployed())


@logger.inject_lambda_context
def handle(event: dict[str, Any], context: LambdaContext) -> dict[str, str]:
    """Tell the dead letters; an error makes Lambda call again, and keep the call."""
    return {"digest": _morning().run()}
