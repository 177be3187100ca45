"""Interleaved rounds (ours, peer, ours, peer, ...) and what they come to."""

from __future__ import annotations

import statistics
from collections.abc import Callable
from dataclasses import dataclass, field

# Rounds of which the first warms up both sides and is not counted.
FEWEST = 7
MOST = 15

# A middle half wider than this part of the median is noise: take more rounds.
_WIDE = 0.10


@dataclass(kw_only=True)
class Rounds:
    """The samples of one comparison, in the order they were taken."""

    ours: list[float] = field(default_factory=list)
    peer: list[float] = field(default_factory=list)

    @property
    def ratios(self) -> list[float]:
        """Ours over the peer's, round by round: both met the same noise."""
        return [a / b for a, b in zip(self.ours, self.peer, strict=True)]

    @property
    def ratio(self) -> float:
        """The median of the rounds' ratios."""
        return statistics.median(self.ratios)

    @property
    def middle_half(self) -> tuple[float, float]:
        """The quartiles of the rounds' ratios."""
        low, _, high = statistics.quantiles(self.ratios, n=4)
        return low, high


def compare(
    ours: Callable[[], float],
    peer: Callable[[], float],
    *,
    bound: float,
    fewest: int = FEWEST,
    most: int = MOST,
) -> Rounds:
    """Sample both by turns until the ratio is clear, or ``most`` rounds are done.

    It is clear when its middle half is narrow and does not hold ``bound``.
    """
    ours(), peer()
    rounds = Rounds()
    while len(rounds.ours) < most:
        rounds.ours.append(ours())
        rounds.peer.append(peer())
        if len(rounds.ours) >= fewest and _is_clear(rounds, bound):
            break
    return rounds


def _is_clear(rounds: Rounds, bound: float) -> bool:
    low, high = rounds.middle_half
    return high - low <= _WIDE * rounds.ratio and not low <= bound <= high
