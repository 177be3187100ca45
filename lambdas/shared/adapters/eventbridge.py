"""The bus in EventBridge."""

from __future__ import annotations

import functools
import random
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

from botocore.exceptions import ClientError

from lambdas.shared.adapters import aws
from lambdas.shared.adapters.failures import code, told_apart
from lambdas.shared.bus import LARGEST_ENTRY_BYTES, Entry, Refusal
from lambdas.shared.errors import Misconfigured, Unavailable

if TYPE_CHECKING:
    from mypy_boto3_events import EventBridgeClient

_WHAT = "the bus"

# PutEvents takes ten entries a request.
_ENTRIES_PER_CALL = 10
# A call waits for the network nearly all of its time; boto3 keeps ten connections,
# and a batch of the stream is ten calls.
_CALLS_AT_ONCE = 10
_TRIES = 3

# What an entry itself is to blame for. Anything else that is refused (no such bus,
# no permission, a code we do not know) is ours or passes: the event must not be
# given up for it.
_PERMANENT = frozenset({"InvalidArgument", "MalformedDetail"})
_OURS = frozenset(
    {
        "AccessDeniedException",
        "InvalidAccountIdException",
        "NotAuthorizedForDetailTypeException",
        "NotAuthorizedForSourceException",
        "ResourceNotFoundException",
    }
)
# A whole request refused for what one of its entries holds.
_BLAMES_AN_ENTRY = frozenset({"RequestEntityTooLargeException", "ValidationException"})


def _client() -> Any:
    return aws.client("events")


@functools.cache
def _pool() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(_CALLS_AT_ONCE, thread_name_prefix="bus")


class EventBridge:
    """A :class:`lambdas.shared.bus.Bus`."""

    def __init__(
        self,
        name: str,
        client: Callable[[], EventBridgeClient] = _client,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        """Publish on the bus ``name``; ``sleep`` waits between tries."""
        self._name = name
        self._client = client
        self._sleep = sleep

    def publish(self, entries: Sequence[Entry]) -> list[Refusal]:
        """See the port; in tens, several requests at once."""
        batches = list(_batches(entries))
        if len(batches) == 1:
            return self._all_of(batches[0])
        self._client()  # made here, once: making one is not safe in threads
        # Every batch is tried before the first error is raised: less to repeat.
        running = [_pool().submit(self._all_of, batch) for batch in batches]
        failures = [f for each in running if (f := each.exception()) is not None]
        if failures:
            raise failures[0]
        return [refusal for each in running for refusal in each.result()]

    def _all_of(self, entries: list[Entry]) -> list[Refusal]:
        refusals: list[Refusal] = []
        passing = ""
        for attempt in range(_TRIES):
            if attempt:
                self._sleep(random.uniform(0, 0.1 * 2**attempt))  # noqa: S311  jitter
            again = []
            for entry, fault in self._once(entries):
                word, _, reason = fault.partition(": ")
                if word in _OURS:
                    raise Misconfigured(f"{_WHAT} refused an entry: {fault}")
                if word in _PERMANENT:
                    refusals.append(Refusal(event_id=entry.event_id, reason=fault))
                else:
                    passing = word or reason
                    again.append(entry)
            if not again:
                return refusals
            entries = again
        raise Unavailable(f"{_WHAT} did not take {len(entries)} entries: {passing}")

    def _once(self, entries: list[Entry]) -> Iterator[tuple[Entry, str]]:
        """Publish once; yield the entries that were not taken, and why."""
        request = [
            {
                "EventBusName": self._name,
                "Source": entry.source,
                "DetailType": entry.kind,
                "Detail": entry.text,
            }
            for entry in entries
        ]
        with told_apart(_WHAT):
            try:
                answer: Any = self._client().put_events(Entries=request)  # type: ignore[arg-type]
            except ClientError as error:
                if code(error) not in _BLAMES_AN_ENTRY:
                    raise
                answer = None
        if answer is not None:
            # 200 with some entries failed is the ordinary way of failing here.
            if not answer.get("FailedEntryCount"):
                return
            for entry, result in zip(entries, answer["Entries"], strict=True):
                if result.get("ErrorCode"):
                    yield entry, f"{result['ErrorCode']}: {result.get('ErrorMessage')}"
        elif len(entries) == 1:
            yield entries[0], "InvalidArgument: the bus refuses this entry"
        else:
            for entry in entries:
                yield from self._once([entry])


def _batches(entries: Sequence[Entry]) -> Iterator[list[Entry]]:
    """Yield what fits into one request each, in order."""
    batch: list[Entry] = []
    size = 0
    for entry in entries:
        is_full = len(batch) == _ENTRIES_PER_CALL
        if batch and (is_full or size + entry.size_bytes > LARGEST_ENTRY_BYTES):
            yield batch
            batch, size = [], 0
        batch.append(entry)
        size += entry.size_bytes
    if batch:
        yield batch
