"""A bound on the whole of an answer, however slowly the other side lets it drip.

A socket's own time-out is for each read: a server that sends a byte a second, in its
headers as well as in its body, would hold us for as long as it likes.
"""

from __future__ import annotations

import io
import socket
import time
from http.client import HTTPResponse
from typing import Any


def response_until(until: float) -> type[HTTPResponse]:
    """Return a class of answers that are read until then, by the monotonic clock.

    What is read later raises TimeoutError.
    """

    class Response(HTTPResponse):
        def __init__(self, sock: socket.socket, *args: Any, **words: Any) -> None:
            super().__init__(sock, *args, **words)
            self.fp = io.BufferedReader(_Until(sock, self.fp.detach(), until))

    return Response


class _Until(io.RawIOBase):
    """``plain``, the socket's own bytes, each wait for which ends at ``until``."""

    def __init__(self, sock: socket.socket, plain: io.RawIOBase, until: float) -> None:
        self._sock, self._plain, self._until = sock, plain, until

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int | None:
        left = self._until - time.monotonic()
        if left <= 0:
            raise TimeoutError("the answer drips")
        self._sock.settimeout(left)
        return self._plain.readinto(buffer)

    def close(self) -> None:
        self._plain.close()
        super().close()
