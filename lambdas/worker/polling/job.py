"""One message that is worked on: what is known of its run, and when that must end."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from lambdas.shared.adapters.lines import Line
from lambdas.shared.clock import milliseconds
from lambdas.shared.fleet import Agent
from lambdas.worker.holding import Holding
from lambdas.worker.polling.ending import Why
from lambdas.worker.polling.heartbeat import Heartbeat, World
from lambdas.worker.polling.hold import Hold
from lambdas.worker.polling.signals import Stopping

# The supervisor looks at a run at least so often.
_LOOK_SECONDS = 5.0


@dataclass(kw_only=True)
class Job:
    """A received message (in the form of Lambda's records) and its run."""

    record: dict[str, Any]
    hold: Hold
    heart: Heartbeat
    agent: Agent
    world: World
    holding: Holding | None = None
    signed: float = field(init=False)
    #: When the run is longer than its agent may be, in ticks.
    too_long: float = float("inf")

    def __post_init__(self) -> None:
        """It begins with a sign of life."""
        self.sign()

    @property
    def message_id(self) -> str:
        """The message's id."""
        return str(self.record["messageId"])

    @property
    def receipt(self) -> str:
        """What the queue knows this receive by."""
        return str(self.record["receiptHandle"])

    @property
    def receive_count(self) -> int:
        """How often it was received, this time included."""
        return int(self.record["attributes"]["ApproximateReceiveCount"])

    @property
    def event_id(self) -> str | None:
        """The event of the run, once it is claimed."""
        return None if self.holding is None else self.holding.event_id

    def sign(self) -> None:
        """The run is alive."""
        self.signed = self.world.ticking()

    def claimed(self, line: Line) -> None:
        """The child has claimed the run: its lease is renewed from here on."""
        self.holding = Holding(
            event_id=line["claimed"], agent=line["key"], token=line["token"]
        )
        self.heart.claimed(self.holding, line["lease_ends_ms"])
        # Counted in ticks from here: a clock that is set ends no run.
        begun_ago = (milliseconds(self.world.clock()) - line["begun_ms"]) / 1000
        left = self.agent.max_duration_seconds - max(0.0, begun_ago)
        # keep_going() tells the run itself; it has the grace to come to its end.
        self.too_long = self.world.ticking() + left + self.agent.grace_seconds

    def why_to_end(self, stopping: Stopping) -> Why | None:
        """Return why the run must be ended now, if it must."""
        now = self.world.ticking()
        if stopping.is_urgent or now >= self._grace_ends(stopping):
            return Why.STOPPED
        if now >= self.too_long:
            return Why.TOO_LONG
        if now >= self.signed + self.agent.stall_seconds:
            return Why.STALLED
        if now >= self.hold.limit - 2 * self.hold.margin:
            return Why.OUTLASTED
        return None

    def patience(self, stopping: Stopping) -> float:
        """Return after how many seconds to look again at the latest."""
        now = self.world.ticking()
        ends = (
            self.signed + self.agent.stall_seconds,
            self.too_long,
            self._grace_ends(stopping),
            now + _LOOK_SECONDS,
        )
        return max(0.0, min(ends) - now)

    def _grace_ends(self, stopping: Stopping) -> float:
        since = stopping.since
        return float("inf") if since is None else since + self.agent.grace_seconds
