"""Where an agent's messages and dead letters lie, and the other failure queues."""

from __future__ import annotations

from dataclasses import dataclass

from cli.output import CliError
from cli.target import Target
from lambdas.dlq_digest.letters import ASYNC, RELAY, RULES, SCHEDULES
from lambdas.dlq_digest.wiring import Box
from lambdas.shared.fleet import logical_name

_OUTPUTS = {
    RULES: "RuleDeadLetters",
    SCHEDULES: "ScheduleDeadLetters",
    RELAY: "RelayParked",
    ASYNC: "AsyncFailures",
}


@dataclass(frozen=True)
class Places:
    """The queues of one stack, by its outputs."""

    target: Target

    def agents(self) -> set[str]:
        """Return the agents that are deployed."""
        names = self.target.fleet.agents
        return {n for n in names if f"Queue{logical_name(n)}" in self.target.outputs}

    def queue(self, agent: str) -> str:
        """Return the URL of an agent's queue."""
        return self._output(f"Queue{logical_name(agent)}", agent)

    def dead_letters(self, agent: str) -> Box:
        """Return an agent's dead letters."""
        return self._box(self._output(f"DeadLetters{logical_name(agent)}", agent))

    def other(self, queue: str) -> Box:
        """Return a failure queue that no agent's queue feeds."""
        return self._box(self._output(_OUTPUTS[queue], queue))

    def boxes(self) -> dict[str, Box]:
        """Return every failure queue by the agent's name, or its own."""
        found = {name: self.dead_letters(name) for name in sorted(self.agents())}
        there = [q for q, name in _OUTPUTS.items() if name in self.target.outputs]
        return found | {queue: self.other(queue) for queue in there}

    def _box(self, url: str) -> Box:
        return Box(url, lambda: self.target.client("sqs"))

    def _output(self, name: str, what: str) -> str:
        url = self.target.outputs.get(name)
        if url is None:
            raise CliError(
                f"{what} is in fleet.toml, not in {self.target.name}: deploy it first"
            )
        return url
