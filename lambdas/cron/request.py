"""What Scheduler sends for a tick, read; whatever it must not be is refused loudly."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from lambdas.shared.errors import Misconfigured
from lambdas.shared.fleet import Fleet, Schedule


class NotATick(Misconfigured):
    """The input names no tick of this fleet. Repeating it will not help."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """A tick of ``schedule`` that was planned for ``planned``."""

    schedule: Schedule
    planned: datetime

    @classmethod
    def read(cls, given: Mapping[str, Any], fleet: Fleet) -> Request:
        """Read the input that the stack gave to the schedule.

        The planned time is never made up: a tick without one would be a new
        event at every repetition.

        Raises:
            NotATick: what was wanted, and what came.
        """
        name, planned = given.get("schedule"), given.get("planned")
        if not isinstance(name, str) or not isinstance(planned, str):
            raise NotATick(f"want schedule and planned, got {sorted(given)}")
        schedule = fleet.schedules.get(name)
        if schedule is None:
            there = ", ".join(fleet.schedules) or "none"
            raise NotATick(
                f"no schedule {name!r} in fleet.toml (there are: {there}): its tick of"
                f" {planned} is not run; was the schedule removed a moment ago?"
            )
        return cls(schedule=schedule, planned=_instant(planned))


def _instant(text: str) -> datetime:
    if "<" in text:
        raise NotATick(
            f"planned is {text!r}: Scheduler has not put its planned time in place of"
            " the context attribute"
        )
    try:
        instant = datetime.fromisoformat(text)
    except ValueError as error:
        raise NotATick(f"planned: want an RFC 3339 time, got {text!r}") from error
    if instant.tzinfo is None:
        raise NotATick(f"planned: want a time with its zone, got {text!r}")
    return instant.astimezone(UTC).replace(microsecond=0)
