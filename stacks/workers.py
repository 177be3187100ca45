"""The agents: for each a queue, its dead letters, a function and its rules."""

from __future__ import annotations

from collections.abc import Mapping

from aws_cdk import aws_iam as iam
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_sqs as sqs
from constructs import Construct

from lambdas.shared.fleet import DLQ_RETENTION_DAYS, QUEUE_RETENTION_DAYS, Agent
from lambdas.shared.settings import WorkerSettings
from stacks.bus import Bus
from stacks.encryption import Encryption
from stacks.function import Functions
from stacks.ledger import BODIES, RESULTS, Ledger
from stacks.queues import make_queue
from stacks.secrets import Secrets


class Workers(Construct):
    """One worker per agent, by name."""

    def __init__(
        self,
        scope: Construct,
        id: str,
        *,
        agents: Mapping[str, Agent],
        functions: Functions,
        ledger: Ledger,
        bus: Bus,
        secrets: Secrets,
        encryption: Encryption,
    ) -> None:
        """Make them; none knows of another."""
        super().__init__(scope, id)
        self.by_agent = {
            name: Worker(
                self,
                agent.logical_name,
                agent=agent,
                functions=functions,
                ledger=ledger,
                bus=bus,
                secrets=secrets,
                encryption=encryption,
            )
            for name, agent in agents.items()
        }

    @property
    def dead_letters(self) -> dict[str, sqs.Queue]:
        """The agents' dead letter queues, by the agent's name."""
        return {name: worker.dead_letters for name, worker in self.by_agent.items()}

    @property
    def queues(self) -> dict[str, sqs.Queue]:
        """The agents' queues, by the agent's name."""
        return {name: worker.queue for name, worker in self.by_agent.items()}


class Worker(Construct):
    """One agent: its function may do what its table in the fleet file says."""

    def __init__(
        self,
        scope: Construct,
        id: str,
        *,
        agent: Agent,
        functions: Functions,
        ledger: Ledger,
        bus: Bus,
        secrets: Secrets,
        encryption: Encryption,
    ) -> None:
        """Make the worker, and the rules that put work on its queue."""
        super().__init__(scope, id)
        self._make_queues(agent, encryption)
        self.function = worker = functions.make(
            self,
            "Worker",
            name="worker",
            settings=WorkerSettings(
                ledger_table=ledger.table.table_name,
                payload_bucket=ledger.bucket.bucket_name,
                agent_name=agent.name,
                queue_url=self.queue.queue_url,
            ),
            timeout_seconds=agent.timeout_seconds,
            memory_mb=agent.memory_mb,
            environment=agent.environment,
        )
        bus.deliver(self, agent, self.queue)
        ledger.allow(worker.role, "GetItem", "PutItem", "UpdateItem", "Query")
        ledger.allow_get(worker.role, BODIES, RESULTS)
        ledger.allow_put(worker.role, BODIES, RESULTS)
        secrets.allow(worker.role, agent.secrets)
        _allow_receive(worker.role, self.queue, encryption)
        _widen(worker.role, agent)
        lambda_.EventSourceMapping(
            self,
            "Messages",
            target=worker.function,
            event_source_arn=self.queue.queue_arn,
            batch_size=agent.batch_size,
            max_concurrency=agent.max_concurrency,
            report_batch_item_failures=True,
        )

    def _make_queues(self, agent: Agent, encryption: Encryption) -> None:
        # No redrive allow policy: it would have to name the queue, which names the
        # DLQ already; CloudFormation knows no way out but names of our own.
        self.dead_letters = make_queue(
            self, "DeadLetters", encryption=encryption, days=DLQ_RETENTION_DAYS
        )
        self.queue = make_queue(
            self,
            "Queue",
            encryption=encryption,
            days=QUEUE_RETENTION_DAYS,
            visibility_seconds=agent.visibility_seconds,
            dead_letters=sqs.DeadLetterQueue(
                queue=self.dead_letters, max_receive_count=agent.max_receives
            ),
        )


def _allow_receive(role: iam.IRole, queue: sqs.Queue, encryption: Encryption) -> None:
    role.add_to_principal_policy(
        iam.PolicyStatement(
            actions=[
                "sqs:ChangeMessageVisibility",
                "sqs:DeleteMessage",
                "sqs:GetQueueAttributes",
                "sqs:ReceiveMessage",
            ],
            resources=[queue.queue_arn],
        )
    )
    encryption.allow_receive(role)


def _widen(role: iam.IRole, agent: Agent) -> None:
    """Let ``role`` do what the agent's ``allow`` says; the fleet has no wildcards."""
    for grant in agent.allow:
        role.add_to_principal_policy(
            iam.PolicyStatement(
                actions=list(grant.actions), resources=list(grant.resources)
            )
        )
