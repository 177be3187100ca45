"""Puts signed deliveries on the wire, one after another or all at once."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

import urllib3

from cli.output import OutOfReachError
from cli.signers import Delivery

# More at once measured the local engine's limit instead of the receiver's.
MOST_IN_FLIGHT = 50

# API Gateway answers within 30 seconds, whatever happens behind it.
_PATIENCE_SECONDS = 31
# The local stack starts a process for each request in flight: with 50 of them on two
# busy cores, the last has waited for more than a minute.
_PATIENCE_AT_HOME_SECONDS = 180
_CONNECT_SECONDS = 10
HOME = frozenset({"127.0.0.1", "localhost", "::1"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What came back for one delivery; ``body`` is its JSON, or its text.

    Status 0: nobody answered; ``body`` then holds the reason as an ``error``.
    """

    status: int
    body: Any
    milliseconds: int

    @property
    def is_success(self) -> bool:
        """Whether the sender would take it as delivered."""
        return 200 <= self.status < 300

    @property
    def event_id(self) -> str | None:
        """The id it was accepted under; None for handshakes and refusals."""
        value = self._field("event_id")
        return value if isinstance(value, str) else None

    @property
    def is_deduplicated(self) -> bool | None:
        """Whether the ledger knew it already."""
        value = self._field("deduplicated")
        return value if isinstance(value, bool) else None

    @property
    def error(self) -> str | None:
        """The code of a refusal."""
        value = self._field("error")
        return value if isinstance(value, str) else None

    def _field(self, name: str) -> Any:
        return self.body.get(name) if isinstance(self.body, dict) else None


class Wire:
    """A connection pool to one address; redirects are answers, not followed."""

    def __init__(self, url: str, *, patience_seconds: float | None = None) -> None:
        """Send to ``url``; nothing is connected yet.

        An answer is waited for as long as AWS could take, on this machine longer.
        """
        self._url = url
        self._is_home = urlsplit(url).hostname in HOME
        usual = _PATIENCE_AT_HOME_SECONDS if self._is_home else _PATIENCE_SECONDS
        self.patience_seconds = patience_seconds or usual
        self._pool = urllib3.PoolManager(
            maxsize=MOST_IN_FLIGHT,
            retries=False,
            timeout=urllib3.Timeout(_CONNECT_SECONDS, self.patience_seconds),
        )

    def post(self, delivery: Delivery) -> Answer:
        """Send one delivery.

        Raises:
            OutOfReachError: nobody answered.
        """
        joint = "&" if urlsplit(self._url).query else "?"
        url = f"{self._url}{joint}{delivery.query}" if delivery.query else self._url
        began = time.perf_counter()
        try:
            answer = self._pool.request(
                delivery.method,
                url,
                body=delivery.body,
                headers=dict(delivery.headers),
                redirect=False,
            )
        except urllib3.exceptions.ReadTimeoutError as error:
            raise OutOfReachError(self._in_vain()) from error
        except urllib3.exceptions.HTTPError as error:
            host = urlsplit(self._url).netloc
            raise OutOfReachError(f"no answer from {host}: {error}") from error
        took = round((time.perf_counter() - began) * 1000)
        return Answer(
            status=answer.status, body=_decoded(answer.data), milliseconds=took
        )

    def _in_vain(self) -> str:
        host = urlsplit(self._url).netloc
        told = f"no answer from {host} within {self.patience_seconds:g} s"
        if not self._is_home:
            return told
        return (
            f"{told}: this machine is busy, and starts a receiver for each delivery in"
            " flight. What was sent may be accepted yet (`bellhop events`); send fewer"
            " at once, or the same again: the receivers are there by then"
        )

    def at_once(
        self, deliveries: Sequence[Delivery], answered: Callable[[], None]
    ) -> list[Answer]:
        """Send all, in order of ``deliveries``, as simultaneously as threads can.

        At most 50 are in flight; the first of each thread wait for each other.
        ``answered`` is called after each answer. One that is not answered is
        told as such, unless none is.

        Raises:
            OutOfReachError: nobody answered any of them.
        """
        threads = min(MOST_IN_FLIGHT, len(deliveries))
        start = threading.Barrier(threads)
        begun = threading.local()

        def send(delivery: Delivery) -> Answer:
            if not hasattr(begun, "yes"):
                begun.yes = True
                start.wait()
            try:
                return self.post(delivery)
            except OutOfReachError as error:
                return Answer(status=0, body={"error": str(error)}, milliseconds=0)
            finally:
                answered()

        with ThreadPoolExecutor(threads) as pool:
            answers = list(pool.map(send, deliveries))
        if all(answer.status == 0 for answer in answers):
            raise OutOfReachError(answers[0].error or "no answer")
        return answers


def _decoded(data: bytes) -> Any:
    try:
        return json.loads(data)
    except ValueError:
        return data.decode(errors="replace")
