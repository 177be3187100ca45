"""Gives a reason to dead letters that nobody could write one for.

A worker that was killed, timed out or could not reach the ledger leaves its
letter in the DLQ and a run that looks as if it went on. The letter proves that
it does not; Lambda's own log says how the last attempt ended.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum
from typing import Any, Protocol

from lambdas.dlq_digest.letters import Letter, Raw, reason_of, strange
from lambdas.shared.blame import Blame
from lambdas.shared.clock import Clock, milliseconds
from lambdas.shared.errors import BellhopError
from lambdas.shared.fleet import Agent
from lambdas.shared.ledger import EVENT_ROW
from lambdas.shared.observe import logger
from lambdas.shared.story import EFFECT, RUN, Category, Reason, RunRecord, State, Status
from lambdas.shared.table import NEW, Change, Condition, Is, Row, Table
from lambdas.worker.delivery import Message, NotOurs

# Lambda writes its report a moment after the attempt.
_LOG_LAG_MS = round(timedelta(minutes=5).total_seconds() * 1000)

_DURATION = re.compile(r"REPORT RequestId: \S+\s+Duration: ([\d.]+) ms")
_MEMORY = re.compile(r"Memory Size: (\d+) MB\s+Max Memory Used: (\d+) MB")
_TIMED_OUT = re.compile(r"Task timed out|Status: timeout")
_OUT_OF_MEMORY = re.compile(r"Runtime\.OutOfMemory|MemoryError")
_EXITED = re.compile(r"Error: (Runtime exited[^\n]*|[^\n]*died[^\n]*)")
# A process that the kernel killed for its memory had nearly all of it.
_NEARLY_ALL = 0.9


class Attempts(Protocol):
    """What Lambda's log says of one invocation."""

    def lines(
        self, log_group: str, request_id: str, since_ms: int, until_ms: int
    ) -> Sequence[str]:
        """Return the lines that name it. Raises Unavailable, Misconfigured."""
        ...


class Found(StrEnum):
    """What a letter turned out to be, when it is no dead letter to tell of."""

    #: The ledger knew it already.
    KNOWN = "known"
    #: Its run is over or has another carrier: nothing is lost with this copy.
    STRAY = "stray"
    #: Its run may still be alive; the next digest looks again.
    ALIVE = "alive"


@dataclass(frozen=True, slots=True)
class Reconciler:
    """Writes DEAD, with a reason, for letters whose run does not say so."""

    table: Table
    attempts: Attempts
    clock: Clock

    def look(self, agent: Agent, raw: Raw) -> Letter | Found:
        """Return what the letter is; a run that died unseen is marked dead."""
        try:
            message = Message.from_record(_record(raw))
            event_id, expires_at = self._read(agent, message)
        except NotOurs as error:
            return strange("agents", agent.name, raw, str(error))
        row = self.table.get(event_id, f"{RUN}{agent.key}")
        if row is None:
            told: dict[str, Any] = {"expires_at": expires_at}
            if message.envelope_id:
                told["envelope_id"] = message.envelope_id
            return self._never_begun(agent, raw, event_id, told)
        run = RunRecord.from_row(row)
        if run.state is State.DEAD and run.carrier == raw.id:
            return Found.KNOWN
        if run.state in _OVER or run.carrier != raw.id:
            return Found.STRAY
        if (run.due_at or 0) > milliseconds(self.clock()):
            return Found.ALIVE
        reason = self._why(agent, event_id, run)
        unchanged = Is("state", str(run.state)) & Is("claim_token", row["claim_token"])
        return self._mark(agent, raw, event_id, reason, unchanged, {})

    def _never_begun(
        self, agent: Agent, raw: Raw, event_id: str, told: Row
    ) -> Letter | Found:
        event = self.table.get(event_id, EVENT_ROW)
        if event is None:
            reason = reason_of(
                "Expired",
                "the ledger no longer holds this event: it is too old to be run again",
                Blame.UNDELIVERABLE,
            )
            return _letter(agent, raw, event_id, reason, raw.sent_ms)
        reason = reason_of(
            "NeverBegun",
            "no attempt could be written down: the worker did not start, or may not"
            " write to the ledger; `bellhop doctor` looks at both",
            Blame.AUTH,
        )
        fresh = {
            **told,
            "carrier": raw.id,
            "attempt": 0,
            "generation": 0,
            "expires_at": event.get("expires_at", told["expires_at"]),
            "sent_at": raw.sent_ms,
        }
        return self._mark(agent, raw, event_id, reason, NEW, fresh)

    def _mark(
        self,
        agent: Agent,
        raw: Raw,
        event_id: str,
        reason: Reason,
        when: Condition,
        fresh: Row,
    ) -> Letter | Found:
        now_ms = milliseconds(self.clock())
        change = Change(
            set={
                **fresh,
                "state": str(State.DEAD),
                "attention": str(State.DEAD),
                "finished_at": now_ms,
                "reason": reason.to_row(),
            },
            remove=("due_at",),
        )
        if not self.table.update(event_id, f"{RUN}{agent.key}", change, when=when).done:
            return Found.ALIVE  # somebody has just begun it
        logger.warning(
            "dead letter was given its reason",
            event_id=event_id,
            agent=agent.name,
            type=reason.type,
        )
        return _letter(agent, raw, event_id, reason, now_ms)

    def _read(self, agent: Agent, message: Message) -> tuple[str, int]:
        if message.is_from_relay:
            delivery = message.delivery(agent.key)
            return delivery.event_id, delivery.expires_at
        return message.aws_event(self.clock()).id, 0

    def _why(self, agent: Agent, event_id: str, run: RunRecord) -> Reason:
        if run.state is State.FAILED and run.reason is not None:
            # The later receives could not even begin: the last word stands.
            return run.reason
        words = self._log(event_id, run)
        doubtful = self._in_doubt(agent, event_id)
        return _ended_how(agent, run, words, doubtful)

    def _log(self, event_id: str, run: RunRecord) -> str:
        if run.invocation is None or run.started_at is None:
            return ""
        group, request_id = run.invocation.get("log_group"), run.invocation.get("id")
        if not group or not request_id:
            return ""
        until = max(run.due_at or 0, run.started_at) + _LOG_LAG_MS
        try:
            lines = self.attempts.lines(group, request_id, run.started_at, until)
        except BellhopError as error:
            logger.warning("log not read", event_id=event_id, reason=str(error))
            return ""
        return "\n".join(lines)

    def _in_doubt(self, agent: Agent, event_id: str) -> str:
        rows = self.table.query(event_id, f"{EFFECT}{agent.key}#")
        names = [
            r["sk"].split("#", 2)[2] for r in rows if r["status"] == Status.STARTED
        ]
        return f"; effect {names[0]!r} is in doubt" if names else ""


_OVER = frozenset({State.SUCCEEDED, State.SKIPPED, State.MISSED, State.DEAD})


def _ended_how(agent: Agent, run: RunRecord, words: str, doubtful: str) -> Reason:
    """Read Lambda's report of the last attempt; the times in it decide, too."""
    duration = _DURATION.search(words)
    seconds = float(duration[1]) / 1000 if duration else None
    memory = _MEMORY.search(words)
    is_full = memory and int(memory[2]) >= _NEARLY_ALL * int(memory[1])
    attempt = f"attempt {run.attempt}"
    if _OUT_OF_MEMORY.search(words) or is_full:
        message = f"{attempt} was killed: out of memory ({agent.memory_mb} MB)"
        return reason_of(
            "OutOfMemory",
            message + doubtful,
            Blame.OUT_OF_MEMORY,
            category=Category.CRASH,
        )
    exited = _EXITED.search(words)
    is_over_time = seconds is not None and seconds >= agent.timeout_seconds
    if _TIMED_OUT.search(words) or (is_over_time and exited is None):
        message = (
            f"{attempt} did not end: Lambda stopped it at its time limit"
            f" ({agent.timeout_seconds} s)"
        )
        return reason_of(
            "TimedOut", message + doubtful, Blame.TIMEOUT, category=Category.TIMEOUT
        )
    told = [f"after {seconds:.1f} s"] if seconds is not None else []
    told += [f"{memory[2]} of {memory[1]} MB used"] if memory else []
    told += [exited[1].strip()] if exited else []
    said = f" ({'; '.join(told)})" if told else ""
    message = f"{attempt} ended without a word: its process was killed{said}"
    return reason_of(
        "Killed", message + doubtful, Blame.AGENT_BUG, category=Category.CRASH
    )


def _letter(
    agent: Agent, raw: Raw, event_id: str, reason: Reason, died_ms: int
) -> Letter:
    return Letter(
        queue="agents",
        agent=agent.name,
        event_id=event_id,
        reason=reason,
        died_ms=died_ms,
        sent_ms=raw.sent_ms,
        message_id=raw.id,
    )


def _record(raw: Raw) -> dict[str, Any]:
    return {
        "messageId": raw.id,
        "receiptHandle": raw.receipt,
        "body": raw.body,
        "attributes": {
            "SentTimestamp": str(raw.sent_ms),
            "ApproximateReceiveCount": "1",
        },
    }
