"""JSON objects, one a line, between a process and the one it started."""

from __future__ import annotations

import contextlib
import json
import select
import socket
import struct
import threading
from typing import Any

Line = dict[str, Any]

_CHUNK = 65_536
# A message of SQS's, and what JSON makes of it at worst. Whoever writes on and on
# without an end must not fill the memory of the one that reads.
_LONGEST_LINE = 16 * 1024 * 1024


class Lines:
    """One end of a socket pair. Sending and taking are safe in threads."""

    def __init__(
        self, end: socket.socket, *, patience_seconds: float | None = None
    ) -> None:
        """Own ``end``. A send waits so long for the other side to read, or for ever."""
        self._end = end
        self._sending, self._taking = threading.Lock(), threading.Lock()
        self._left = bytearray()
        if patience_seconds is not None:
            whole = int(patience_seconds)
            told = struct.pack("ll", whole, int((patience_seconds - whole) * 1e6))
            end.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, told)

    @classmethod
    def at(cls, descriptor: int) -> Lines:
        """Own the end that this process was handed at its start.

        What it starts itself inherits it no more.
        """
        end = socket.socket(fileno=descriptor)
        end.set_inheritable(False)
        return cls(end)

    def send(self, **fields: Any) -> bool:
        """Send one object; ``False`` when the other side is gone, or does not read.

        Part of it may have been sent then: nothing more is said on this line, and
        the other side finds its end.
        """
        with self._sending:
            try:
                self._end.sendall(_bytes(fields))
            except OSError:
                with contextlib.suppress(OSError):
                    self._end.shutdown(socket.SHUT_WR)
                return False
            return True

    def hint(self, **fields: Any) -> None:
        """Send one small object if that needs no waiting."""
        if not self._sending.acquire(blocking=False):
            return
        try:
            self._end.send(_bytes(fields), socket.MSG_DONTWAIT)
        except OSError:
            pass  # full: the other side has enough unread signs; or gone
        finally:
            self._sending.release()

    def take(self, wait_seconds: float | None = 0) -> list[Line] | None:
        """Return what has come, waiting so long for the first; None: the end."""
        poll = select.poll()
        try:
            poll.register(self._end, select.POLLIN)
            poll.poll(None if wait_seconds is None else wait_seconds * 1000)
            with self._taking:
                return self._received()
        except (OSError, TypeError, ValueError, RecursionError):
            return None  # closed beneath us, or nothing of ours is on it

    def _received(self) -> list[Line] | None:
        lines: list[Line] = []
        while True:
            try:
                chunk = self._end.recv(_CHUNK, socket.MSG_DONTWAIT)
            except BlockingIOError:
                return lines
            if not chunk:
                return lines or None
            head, *more = chunk.split(b"\n")
            self._left += head
            if len(self._left) > _LONGEST_LINE:
                raise ValueError("a line without an end")
            for begun in more:
                lines.append(_line(self._left))
                self._left = bytearray(begun)

    def no_more(self) -> None:
        """Take what has come, and nothing that comes from here on."""
        with contextlib.suppress(OSError):  # the other side is gone already
            self._end.shutdown(socket.SHUT_RD)

    def close(self) -> None:
        """Let the other side see the end."""
        self._end.close()


def pair(patience_seconds: float) -> tuple[Lines, socket.socket]:
    """Return our end, and the other one to be handed to a process."""
    ours, theirs = socket.socketpair()
    return Lines(ours, patience_seconds=patience_seconds), theirs


def _line(text: bytearray) -> Line:
    line = json.loads(text)
    if not isinstance(line, dict):
        raise TypeError("not a line of ours")
    return line


def _bytes(fields: Line) -> bytes:
    return json.dumps(fields, separators=(",", ":")).encode() + b"\n"
