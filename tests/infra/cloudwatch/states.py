"""The state of an alarm from its data points, after CloudWatch's user guide.

"How alarm state is evaluated when data is missing" and "Avoiding premature
transitions to alarm state"; ``test_cloudwatch.py`` holds both of its tables.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Literal

Missing = Literal["missing", "ignore", "breaching", "notBreaching"]


class State(StrEnum):
    """What an alarm says."""

    OK = "OK"
    ALARM = "ALARM"
    INSUFFICIENT_DATA = "INSUFFICIENT_DATA"


@dataclass(frozen=True, slots=True, kw_only=True)
class Judgement:
    """How an alarm judges: ``least`` of the last ``of`` points must be breaching."""

    least: int
    of: int
    missing: Missing

    @property
    def range(self) -> int:
        """How many points are looked at, in case some are missing.

        AWS names no formula; its examples look at five for three.
        """
        return self.of + 2


def judge(
    points: Sequence[bool | None], how: Judgement, before: State = State.OK
) -> State:
    """Return the state by ``points``, the newest last: breaching, not, or missing."""
    looked_at = points[-how.range :]
    real = [point for point in looked_at if point is not None]
    if len(real) >= how.of:
        return _verdict(sum(real[-how.of :]) >= how.least)
    filled = how.of - len(real)
    breaching = sum(real)
    match how.missing:
        case "breaching":
            return _verdict(breaching + filled >= how.least)
        case "notBreaching":
            return _verdict(breaching >= how.least)
    if breaching >= how.least or (real and not all(real)):
        return _verdict(breaching >= how.least)
    if how.missing == "ignore":
        return before
    return State.ALARM if _is_old(looked_at, how) else State.INSUFFICIENT_DATA


def _is_old(points: Sequence[bool | None], how: Judgement) -> bool:
    """Tell whether a breaching point is so old that nothing newer can excuse it."""
    newest_first = list(reversed(points))[: how.of]
    ages = [age for age, point in enumerate(newest_first, start=1) if point]
    return bool(ages) and max(ages) >= how.least


def _verdict(is_alarm: bool) -> State:
    return State.ALARM if is_alarm else State.OK
