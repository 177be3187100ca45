"""The agents' workers: a function each, or containers that poll."""

from __future__ import annotations

from collections.abc import Mapping
from typing import cast

from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_sqs as sqs
from constructs import Construct

from lambdas.shared.fleet import Agent
from stacks.fargate.containers import Containers
from stacks.fargate.service import PollingWorker
from stacks.function import Functions
from stacks.work import Places, Worker


class Workers(Construct):
    """One worker per agent, by name."""

    def __init__(
        self,
        scope: Construct,
        id: str,
        *,
        agents: Mapping[str, Agent],
        functions: Functions,
        containers: Containers | None,
        places: Places,
    ) -> None:
        """Make them; none knows of another.

        ``containers`` is what those that poll share; None where no agent does.
        """
        super().__init__(scope, id)
        self.calling: dict[str, CalledWorker] = {}
        self.polling: dict[str, PollingWorker] = {}
        for name, agent in agents.items():
            if agent.polls and containers is not None:
                self.polling[name] = PollingWorker(
                    self,
                    agent.logical_name,
                    agent=agent,
                    containers=containers,
                    places=places,
                )
            else:
                self.calling[name] = CalledWorker(
                    self,
                    agent.logical_name,
                    agent=agent,
                    functions=functions,
                    places=places,
                )
        made: dict[str, Worker] = {**self.calling, **self.polling}
        #: Every worker by the agent's name, in the fleet's order.
        self.by_agent = {name: made[name] for name in agents}

    @property
    def dead_letters(self) -> dict[str, sqs.Queue]:
        """The agents' dead letter queues, by the agent's name."""
        return {name: worker.dead_letters for name, worker in self.by_agent.items()}

    @property
    def queues(self) -> dict[str, sqs.Queue]:
        """The agents' queues, by the agent's name."""
        return {name: worker.queue for name, worker in self.by_agent.items()}


class CalledWorker(Worker):
    """A worker that Lambda calls: a function, one message at a time."""

    def __init__(
        self,
        scope: Construct,
        id: str,
        *,
        agent: Agent,
        functions: Functions,
        places: Places,
    ) -> None:
        """Make the function, and the mapping that calls it."""
        super().__init__(scope, id, agent=agent, places=places)
        self.function = worker = functions.make(
            self,
            "Worker",
            name="worker",
            settings=self.settings,
            timeout_seconds=agent.timeout_seconds,
            memory_mb=agent.memory_mb,
            environment=agent.environment,
        )
        self.let_work(worker.role)
        # A run that is near its time limit goes on under a message to its own queue.
        # Lambda takes that for a mistake and stops it after some 16 times, unless
        # told otherwise; max_duration_seconds is what ends such a run.
        cast(
            "lambda_.CfnFunction", worker.function.node.default_child
        ).recursive_loop = "Allow"
        lambda_.EventSourceMapping(
            self,
            "Messages",
            target=worker.function,
            event_source_arn=self.queue.queue_arn,
            batch_size=agent.batch_size,
            max_concurrency=agent.max_concurrency,
            report_batch_item_failures=True,
        )
