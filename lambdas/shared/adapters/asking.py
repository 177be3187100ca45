"""Asking another process of this machine or task, over plain HTTP."""

from __future__ import annotations

import http.client

_PATIENCE_SECONDS = 5


def get(address: str, path: str) -> tuple[int, str]:
    """Return status and text of ``path`` at ``host:port``; 0 and why: no answer."""
    connection = http.client.HTTPConnection(address, timeout=_PATIENCE_SECONDS)
    try:
        connection.request("GET", path)
        answer = connection.getresponse()
        return answer.status, answer.read().decode("utf-8", "replace")
    except (OSError, http.client.HTTPException) as error:
        return 0, f"{type(error).__name__}: {error}\n"
    finally:
        connection.close()
