"""Calls a function's own code from a verb, without its logs and metrics."""

from __future__ import annotations

import contextlib
import io
from collections.abc import Iterator

from lambdas.shared.observe import logger


@contextlib.contextmanager
def quiet() -> Iterator[None]:
    """Keep a function's logs and metrics out of what the verb says."""
    level = logger.log_level
    logger.setLevel("CRITICAL")
    try:
        with contextlib.redirect_stdout(io.StringIO()):
            yield
    finally:
        logger.setLevel(level)
