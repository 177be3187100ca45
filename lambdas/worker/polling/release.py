"""Ends a run whose process is gone, and says when its message may show again."""

from __future__ import annotations

import math
from collections.abc import Callable

from lambdas.shared.clock import milliseconds
from lambdas.shared.errors import BellhopError
from lambdas.shared.fleet import Agent
from lambdas.shared.story import RUN, State
from lambdas.worker.ending import backoff_seconds
from lambdas.worker.holding import Ending, Holding, release
from lambdas.worker.polling import telling
from lambdas.worker.polling.ending import Why, ending_of
from lambdas.worker.polling.heartbeat import World
from lambdas.worker.polling.job import Job


class Release:
    """Writes for a child that can write no more, under the claim that it had."""

    def __init__(
        self, agent: Agent, world: World, chance: Callable[[float, float], float]
    ) -> None:
        """``chance(low, high)`` draws a number between the two."""
        self._agent = agent
        self._world = world
        self._chance = chance

    def shown_in(self, job: Job, why: Why, exit_code: int | None) -> int | None:
        """End the job's run for ``why``; return in how many seconds to show it.

        None: leave the message as it is.
        """
        if why is Why.LOST:
            return None
        if job.holding is None:
            return self._unclaimed(job, why)
        now_ms = milliseconds(self._world.clock())
        ending = ending_of(
            why, self._agent, job.receive_count, exit_code, now_ms, self._chance
        )
        try:
            if release(self._world.table, job.holding, ending, now_ms):
                return self._released(job.holding, ending, now_ms)
            return self._ended_before(job.holding, now_ms)
        except BellhopError as error:
            telling.not_released(self._agent.name, job.holding.event_id, error)
            # Nobody may claim it before its lease is over.
            return max(0, math.ceil(job.hold.leased_until - self._world.ticking()))

    def _unclaimed(self, job: Job, why: Why) -> int:
        if why is Why.STOPPED:
            return 0
        wait = backoff_seconds(self._agent, job.receive_count, self._chance)
        return math.ceil(wait)

    def _released(self, holding: Holding, ending: Ending, now_ms: int) -> int:
        if ending.reason is not None:
            agent, event_id = self._agent.name, holding.event_id
            telling.released(agent, event_id, ending.state, ending.reason)
        return _seconds(ending.due_ms, now_ms)

    def _ended_before(self, holding: Holding, now_ms: int) -> int | None:
        """Say when to show the message of a run that its process has ended itself.

        Its verdict was lost on the way: the message comes back once more, and what
        the ledger says of the run decides.
        """
        row = self._world.table.get(holding.event_id, f"{RUN}{holding.agent}")
        if row is None or row.get("claim_token") != holding.token:
            return None
        is_due_later = row["state"] == State.FAILED
        return _seconds(row.get("due_at") if is_due_later else None, now_ms)


def _seconds(due_ms: int | None, now_ms: int) -> int:
    return 0 if due_ms is None else max(0, math.ceil((due_ms - now_ms) / 1000))
