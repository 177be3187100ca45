"""What a worker is doing, and whether that is well: what ``/healthz`` answers.

    starting  the process that runs the agent is not there yet
    working   a run is going on
    idle      waiting for a message
    stopping  asked to stop
    stuck     503: a restart would help, or somebody must look

``degraded`` stands beside a state that is well: in business hours nothing has arrived
for longer than the fleet file expects. A restart would not bring any work, so the
answer stays 200; a log line and a metric tell of it.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Literal

from lambdas.shared.clock import Clock, rfc3339
from lambdas.shared.fleet import Agent
from lambdas.shared.fleet.hours import BusinessHours, business_hours
from lambdas.worker.polling.hold import Ticking

# What a worker lives by.
Part = Literal["the queue", "the heartbeat", "the child"]

# A queue or a ledger that was not reached for so long is an outage, not a hiccup.
UNREACHABLE_SECONDS = 60
# The supervisor ends a run that stalls; this much later it has not.
_LATE_SECONDS = 60


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """The answer to how it is."""

    state: str
    why: str | None
    degraded: str | None
    fields: dict[str, Any]

    @property
    def is_stuck(self) -> bool:
        """Whether it needs help."""
        return self.state == "stuck"

    @property
    def status(self) -> int:
        """The HTTP status."""
        return 503 if self.is_stuck else 200

    def to_json(self) -> dict[str, Any]:
        """Return what ``/healthz`` says; what does not apply is left out."""
        told = {
            "state": self.state,
            "why": self.why,
            "degraded": self.degraded,
            **self.fields,
        }
        return {name: value for name, value in told.items() if value is not None}


class Pulse:
    """Told by the supervisor's threads what happens; asked by anybody."""

    def __init__(
        self, agent: Agent, clock: Clock, ticking: Ticking, *, wait_seconds: int
    ) -> None:
        """A worker that has just started, and waits ``wait_seconds`` per poll."""
        self._agent, self._clock, self._ticking = agent, clock, ticking
        self._wait = wait_seconds
        self._hours = _hours(agent)
        self._lock = threading.Lock()
        now = ticking()
        self._started = clock()
        self._arrived: datetime | None = None
        self._polled = self._turned = now
        self._run: dict[str, Any] = {}
        self._signed = now
        self._unwell: dict[Part, tuple[float, str]] = {}
        self._is_started = self._is_stopping = False

    def started(self) -> None:
        """The process that runs the agent takes work; said once or again."""
        with self._lock:
            self._is_started = True
            self._unwell.pop("the child", None)

    def turned(self) -> None:
        """The supervisor goes on: it is neither dead nor hung."""
        with self._lock:
            self._turned = self._ticking()

    def polled(self) -> None:
        """The queue answered, with a message or without."""
        with self._lock:
            self._polled = self._turned = self._ticking()
            self._unwell.pop("the queue", None)

    def fails(self, what: Part, why: str) -> None:
        """``what`` does not work; since when is kept from the first time on."""
        with self._lock:
            since, _ = self._unwell.get(what, (self._ticking(), ""))
            self._unwell[what] = since, why

    def works(self, what: Part) -> None:
        """It works again."""
        with self._lock:
            self._unwell.pop(what, None)

    def began(self, message_id: str) -> None:
        """A message arrived and is worked on."""
        with self._lock:
            self._arrived = self._clock()
            self._run = {"message_id": message_id, "since": rfc3339(self._arrived)}
            self._signed = self._ticking()

    def claimed(self, event_id: str, attempt: int) -> None:
        """Its run is claimed."""
        with self._lock:
            self._run |= {"event": event_id, "attempt": attempt}

    def signed(self) -> None:
        """The run gave a sign of life."""
        with self._lock:
            self._signed = self._ticking()

    def ended(self) -> None:
        """Nothing is worked on any more."""
        with self._lock:
            self._run = {}
            self._unwell.pop("the heartbeat", None)
            self._polled = self._turned = self._ticking()

    def stopping(self) -> None:
        """It was asked to stop."""
        with self._lock:
            self._is_stopping = True

    def report(self) -> Report:
        """Say how it is now."""
        with self._lock:
            now = self._ticking()
            why = self._stuck(now)
            state = "working" if self._run else "idle"
            if not self._is_started:
                state = "starting"
            fields: dict[str, Any] = {
                "agent": self._agent.name,
                **self._run,
                "started": rfc3339(self._started),
            }
            if self._run:
                fields["last_sign_seconds_ago"] = round(now - self._signed, 1)
            else:
                fields["last_poll_seconds_ago"] = round(now - self._polled, 1)
            if self._arrived is not None:
                fields["last_arrival"] = rfc3339(self._arrived)
            if self._is_stopping:
                state = "stopping"
            return Report(
                state="stuck" if why else state,
                why=why,
                degraded=self._degraded(),
                fields=fields,
            )

    def _stuck(self, now: float) -> str | None:
        for what, (since, why) in self._unwell.items():
            if now - since >= UNREACHABLE_SECONDS:
                return f"{what} fails for {now - since:.0f} s: {why}"
        if self._run:
            silent = now - self._signed
            if silent >= self._agent.stall_seconds + _LATE_SECONDS:
                return f"no sign of life for {silent:.0f} s, and not ended"
            return None
        still = now - self._turned
        if still >= self._wait + UNREACHABLE_SECONDS:
            return f"nobody polls the queue for {still:.0f} s"
        return None

    def _degraded(self) -> str | None:
        minutes = self._agent.expect_every_minutes
        if self._hours is None or minutes is None or self._run:
            return None
        now = self._clock()
        opened = self._hours.open_for(now)
        if opened is None:
            return None
        quiet = min(opened, now - (self._arrived or self._started))
        if quiet < timedelta(minutes=minutes):
            return None
        return f"nothing has arrived for {quiet.total_seconds() / 60:.0f} minutes"


def _hours(agent: Agent) -> BusinessHours | None:
    if agent.business_hours is None:
        return None
    return business_hours(agent.business_hours, agent.timezone)
