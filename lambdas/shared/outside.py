"""Where a call to the outside world goes, and what comes back."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Protocol
from urllib.parse import urlsplit

# Set on the local stack only; a template test asserts that AWS never sees it.
WORLD_URL_VARIABLE = "BELLHOP_WORLD_URL"


class Answer(Protocol):
    """What the other side answered; names of headers in lower case."""

    @property
    def status(self) -> int: ...
    @property
    def headers(self) -> Mapping[str, str]: ...
    @property
    def body(self) -> bytes: ...


class Exchange(Protocol):
    """Makes one call: ``lambdas.shared.adapters.https.exchange``."""

    def __call__(
        self,
        url: str,
        *,
        headers: Mapping[str, str],
        most_bytes: int,
        timeout_seconds: float,
    ) -> Answer:
        """Return the answer, whatever its status; raises Unavailable."""
        ...


def address(url: str) -> str:
    """Return where to call ``url``: itself, or its place in the local stack's world.

    Every outgoing HTTP call of ours goes through it, so that nothing leaves
    the machine on the local stack: ``https://api.github.com/x?y`` becomes
    ``<world>/api.github.com/x?y``.
    """
    world = os.environ.get(WORLD_URL_VARIABLE)
    if not world:
        return url
    parts = urlsplit(url)
    query = f"?{parts.query}" if parts.query else ""
    return f"{world.rstrip('/')}/{parts.netloc.rpartition('@')[2]}{parts.path}{query}"
