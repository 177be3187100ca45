"""A bus, queues and parking in memory."""

from __future__ import annotations

from collections.abc import Sequence

from lambdas.shared.bus import Entry, Refusal


class FakeBus:
    """A :class:`lambdas.shared.bus.Bus`; ``published`` is what rules would see.

    Each error of ``failures`` is raised by one call, after half of its entries
    were taken. Ids in ``refused`` are refused for good.
    """

    def __init__(self) -> None:
        self.published: list[Entry] = []
        self.failures: list[Exception] = []
        self.refused: set[str] = set()

    @property
    def ids(self) -> list[str]:
        return [entry.event_id for entry in self.published]

    def publish(self, entries: Sequence[Entry]) -> list[Refusal]:
        if self.failures:
            self.published += entries[: len(entries) // 2]
            raise self.failures.pop(0)
        self.published += [e for e in entries if e.event_id not in self.refused]
        return [
            Refusal(event_id=e.event_id, reason="MalformedDetail: no")
            for e in entries
            if e.event_id in self.refused
        ]


class FakeParked:
    """A :class:`lambdas.relay.relay.Parked`: reasons by event id."""

    def __init__(self) -> None:
        self.reasons: dict[str, str] = {}

    def park(self, event_id: str, reason: str) -> None:
        self.reasons[event_id] = reason


class FakeBacklogs:
    """A :class:`lambdas.sweep.sweep.Backlogs`: messages by agent, none unless set."""

    def __init__(self) -> None:
        self.messages: dict[str, int] = {}

    def waiting(self, agent: str) -> int:
        return self.messages.get(agent, 0)
