"""A clock that stands still until it is told otherwise."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from lambdas.shared.clock import milliseconds

NOON = datetime(2026, 11, 29, 12, 0, tzinfo=UTC)


class FakeClock:
    """A :class:`lambdas.shared.clock.Clock`, moved by hand."""

    def __init__(self, instant: datetime = NOON) -> None:
        self.instant = instant

    def __call__(self) -> datetime:
        return self.instant

    def advance(self, seconds: float) -> None:
        self.instant += timedelta(seconds=seconds)

    @property
    def ms(self) -> int:
        return milliseconds(self.instant)
