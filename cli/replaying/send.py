"""Sends chosen runs round again, each once per job, and watches how they fare.

A letter is moved: its body goes to the agent's queue as a new message, then it is
deleted. A crash between the two leaves a copy, which the claim of the run makes
harmless. Before that the run's row is marked, so that of two operators one sends.
"""

from __future__ import annotations

import json
import math
import time
import uuid
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass, field
from functools import partial
from typing import Any

from cli.replaying.choose import Item
from cli.replaying.job import Job
from cli.replaying.places import Places
from cli.target import Target
from lambdas.dlq_digest.wiring import Box
from lambdas.shared import bus, clock
from lambdas.shared.clock import milliseconds, rfc3339
from lambdas.shared.ledger import EVENT_ROW
from lambdas.shared.story import RUN, RunRecord, State
from lambdas.shared.table import Absent, Below, Change, Condition, Is, Row
from lambdas.worker.delivery import Message, NotOurs

# Long enough to send ten letters, short enough to wait for after a crash.
_HIDE_SECONDS = 30
# Letters that are not ours show again meanwhile; so many batches of them in a row
# say that there is nothing else.
_STALE_BATCHES = 20
# Whoever marked a run and has not sent it by then is not coming back.
_FORGOTTEN_MS = 15 * 60 * 1000
_WATCH_EVERY_SECONDS = 1.0
_WATCHED_AT_ONCE = 25


@dataclass(kw_only=True)
class Tally:
    """What became of a job so far.

    ``taken``: somebody else sends it, or it runs already; ``lost``: the ledger
    no longer holds its event; ``cleared``: copies of letters that were sent.
    """

    sent: int = 0
    taken: int = 0
    lost: int = 0
    cleared: int = 0
    succeeded: int = 0
    failed_again: int = 0
    under_way: int = 0

    def told(self) -> dict[str, int]:
        """Return all of it by name."""
        return asdict(self)


class TooManyFailed(Exception):
    """What was sent fails again: the rest is kept."""


@dataclass(kw_only=True)
class Sender:
    """Works on one job. ``step`` is called after each item."""

    target: Target
    job: Job
    places: Places
    per_second: float
    most_failures: int
    step: Callable[[], None] = lambda: None
    sleep: Callable[[float], None] = time.sleep
    monotonic: Callable[[], float] = time.monotonic
    tally: Tally = field(default_factory=Tally)
    _watched: dict[tuple[str, str], int] = field(default_factory=dict)
    _last_look: float = 0.0

    def send(self, items: list[Item]) -> None:
        """Send all of ``items``, at the rate that was asked for.

        Raises:
            TooManyFailed: more than ``most_failures`` of them failed again.
        """
        by_agent: dict[str, dict[tuple[str, str], Item]] = {}
        for item in items:
            by_agent.setdefault(item.agent, {})[item.key] = item
        for agent, pending in by_agent.items():
            if not self.job.choice.again and self._move(agent, pending):
                # Another operator, or a redrive, has their letters in hand.
                self.tally.taken += len(pending)
                continue
            for item in list(pending.values()):
                self._pace(partial(self._publish, item))
        if self.job.is_resumed and not self.job.choice.again:
            for agent in self.places.agents() - by_agent.keys():
                if self.job.choice.agent in {None, agent}:
                    self._move(agent, {})

    def wait(self, seconds: float) -> None:
        """Watch what was sent until all of it ended, at most so long.

        Raises:
            TooManyFailed: as :meth:`send`.
        """
        until = self.monotonic() + seconds
        while self._watched and self.monotonic() < until:
            self.sleep(0.2)
            self._look()
        self.tally.under_way = len(self._watched)

    def _move(self, agent: str, pending: dict[tuple[str, str], Item]) -> bool:
        """Move the letters of ``pending`` out of the agent's DLQ.

        What is left of ``pending`` was not found; returns whether somebody else
        holds letters of this queue, which may be those.
        """
        box = self.places.dead_letters(agent)
        key = self.target.fleet.agents[agent].key
        others: dict[str, Mapping[str, Any]] = {}
        try:
            for message in self._letters(box, others):
                if not pending and not self.job.is_resumed:
                    break
                event_id, envelope_id = _carried(message, key)
                item = pending.get((event_id, f"{RUN}{key}"))
                # A copy of another publication would be taken for a duplicate.
                if item is not None and item.is_woken_by(envelope_id):
                    del pending[item.key]
                    is_gone = self._pace(partial(self._redrive, item, message))
                else:
                    is_gone = self._clear(message, event_id, key, box)
                if is_gone:
                    del others[message["MessageId"]]
            return bool(pending) and box.waiting() > len(others)
        finally:
            held = [Receipt(each["ReceiptHandle"]) for each in others.values()]
            box.release(held)

    def _letters(
        self, box: Box, others: dict[str, Mapping[str, Any]]
    ) -> Iterator[Mapping[str, Any]]:
        """Yield each letter of a queue once; ``others`` are all that we hold."""
        seen: set[str] = set()
        stale, waited = 0, 0
        while stale < _STALE_BATCHES:
            batch = box.receive_some(self._hide_seconds)
            others.update({each["MessageId"]: each for each in batch})
            fresh = [each for each in batch if each["MessageId"] not in seen]
            seen.update(each["MessageId"] for each in fresh)
            yield from fresh
            if batch:
                stale = 0 if fresh else stale + 1
                continue
            is_held = self.job.is_resumed and box.waiting() > len(others)
            if not is_held or waited > self._hide_seconds:
                return
            # Our own earlier self held them when it was interrupted.
            waited += 1
            self.sleep(1)

    @property
    def _hide_seconds(self) -> int:
        return max(_HIDE_SECONDS, math.ceil(20 / self.per_second))

    def _redrive(self, item: Item, message: Mapping[str, Any]) -> bool:
        """Send the letter's own body, then delete it; whether it was ours to send."""
        if not self._mark(item):
            self.tally.taken += 1
            return False
        self.target.client("sqs").send_message(
            QueueUrl=self.places.queue(item.agent),
            MessageBody=message["Body"],
            MessageAttributes=message.get("MessageAttributes", {}),
        )
        self.tally.sent += 1
        self.places.dead_letters(item.agent).delete(message["ReceiptHandle"])
        return True

    def _publish(self, item: Item) -> bool:
        """Send a message made from the ledger, where there is no letter to move."""
        row = self.target.table.get(item.dead.event_id, EVENT_ROW)
        if row is None:
            self.tally.lost += 1
            return False
        if not self._mark(item):
            self.tally.taken += 1
            return False
        self.target.client("sqs").send_message(
            QueueUrl=self.places.queue(item.agent),
            MessageBody=json.dumps(self._envelope(row, item)),
        )
        self.tally.sent += 1
        return True

    def _envelope(self, row: Row, item: Item) -> dict[str, Any]:
        entry = bus.entry_of(row)
        run = item.dead.run
        detail = dict(entry.detail)
        envelope_id = None
        if self.job.choice.again:
            detail["generation"] = run.generation + 1
            if not self.job.choice.fresh_effects:
                detail["effects_generation"] = _effects(run)
        else:
            detail["generation"] = run.generation
            detail["effects_generation"] = _effects(run)
            # What brings a dead run back comes in its carrier's envelope.
            envelope_id = run.envelope_id
        return {
            **entry.envelope,
            "version": "0",
            "id": envelope_id or str(uuid.uuid4()),
            "time": rfc3339(self.target.now()),
            "resources": [],
            "detail": detail,
        }

    def _mark(self, item: Item) -> bool:
        """Take the item for this job; ``False`` when it is not ours to send."""
        now_ms = milliseconds(self.target.now())
        run = item.dead.run
        ended = run.finished_at or 0
        unmarked: Condition = Absent("replayed_at") | Below("replayed_at", ended)
        mine = Is("replayed_by", self.job.id)
        forgotten = Below("replayed_at", now_ms - _FORGOTTEN_MS)
        change = Change(set={"replayed_at": now_ms, "replayed_by": self.job.id})
        # One that was at work when its message was lost has no end.
        is_same_end: Condition = Absent("finished_at")
        if run.finished_at is not None:
            is_same_end = Is("finished_at", ended)
        as_it_was = Is("state", str(run.state)) & is_same_end
        if self.job.choice.again:
            as_it_was = as_it_was & Is("generation", run.generation)
        when = as_it_was & (unmarked | mine | forgotten)
        done = self.target.table.update(*item.key, change, when=when).done
        if done:
            self._watched[item.key] = now_ms
        return done

    def _clear(
        self, message: Mapping[str, Any], event_id: str, key: str, box: Box
    ) -> bool:
        """Delete the copy that an interrupted job left behind its sent message."""
        if not self.job.is_resumed or not event_id:
            return False
        row = self.target.table.get(event_id, f"{RUN}{key}")
        if row is None or row.get("replayed_by") != self.job.id:
            return False
        # The letter of a run that died anew has that run's carrier.
        if row.get("carrier") == message["MessageId"]:
            return False
        box.delete(message["ReceiptHandle"])
        self.tally.cleared += 1
        return True

    def _pace(self, action: Callable[[], bool]) -> bool:
        """Do it no faster than was asked for, and look at what was sent before."""
        began = self.monotonic()
        was_sent = action()
        self.step()
        if was_sent:
            rest = 1 / self.per_second - (self.monotonic() - began)
            if rest > 0:
                self.sleep(rest)
        if self.monotonic() - self._last_look >= _WATCH_EVERY_SECONDS:
            self._look()
        return was_sent

    def _look(self) -> None:
        """See what became of what was sent; stop when too much of it failed."""
        self._last_look = self.monotonic()
        for (event_id, sk), marked_ms in list(self._watched.items())[:_WATCHED_AT_ONCE]:
            # The oldest are looked at first; those still running go to the end.
            del self._watched[event_id, sk]
            row = self.target.table.get(event_id, sk)
            if row is None:
                continue
            ended = row.get("finished_at", 0) >= marked_ms
            if ended and row["state"] in {State.SUCCEEDED, State.SKIPPED}:
                self.tally.succeeded += 1
            elif ended and row["state"] in {State.FAILED, State.DEAD}:
                self.tally.failed_again += 1
            else:
                self._watched[event_id, sk] = marked_ms
        if self.tally.failed_again > self.most_failures:
            self.tally.under_way = len(self._watched)
            raise TooManyFailed


@dataclass(frozen=True, slots=True)
class Receipt:
    """What SQS wants to hear of a message that was received."""

    receipt: str


def _effects(run: RunRecord) -> int:
    kept = run.effects_generation
    return run.generation if kept is None else kept


def _carried(message: Mapping[str, Any], key: str) -> tuple[str, str]:
    """Return the event that a letter carries, "" when none, and its envelope's id."""
    record = {
        "messageId": message["MessageId"],
        "receiptHandle": message["ReceiptHandle"],
        "body": message["Body"],
        "attributes": {"SentTimestamp": "0", "ApproximateReceiveCount": "1"},
    }
    try:
        read = Message.from_record(record)
        if read.is_from_relay:
            return read.delivery(key).event_id, read.envelope_id
        return read.aws_event(clock.now()).id, read.envelope_id
    except NotOurs:
        return "", ""
