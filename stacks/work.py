"""What every agent has, whoever does its work: a queue, dead letters and rules."""

from __future__ import annotations

from dataclasses import dataclass

from aws_cdk import aws_iam as iam
from aws_cdk import aws_sqs as sqs
from constructs import Construct

from lambdas.shared.fleet import DLQ_RETENTION_DAYS, QUEUE_RETENTION_DAYS, Agent
from lambdas.shared.settings import WorkerSettings
from stacks.bus import Bus
from stacks.encryption import Encryption
from stacks.ledger import BODIES, RESULTS, Ledger
from stacks.queues import make_queue
from stacks.secrets import Secrets


@dataclass(frozen=True, slots=True, kw_only=True)
class Places:
    """Where work comes from, and where it is written down."""

    ledger: Ledger
    bus: Bus
    secrets: Secrets
    encryption: Encryption


class Worker(Construct):
    """One agent: what it hears is put on its queue, and taken by nobody yet."""

    def __init__(
        self, scope: Construct, id: str, *, agent: Agent, places: Places
    ) -> None:
        """Make the queue, its dead letters, and the rules that put work on it."""
        super().__init__(scope, id)
        self.agent = agent
        self._places = places
        # No redrive allow policy: it would have to name the queue, which names the
        # DLQ already; CloudFormation knows no way out but names of our own.
        self.dead_letters = make_queue(
            self,
            "DeadLetters",
            encryption=places.encryption,
            days=DLQ_RETENTION_DAYS,
        )
        self.queue = make_queue(
            self,
            "Queue",
            encryption=places.encryption,
            days=QUEUE_RETENTION_DAYS,
            visibility_seconds=agent.visibility_seconds,
            dead_letters=sqs.DeadLetterQueue(
                queue=self.dead_letters, max_receive_count=agent.max_receives
            ),
        )
        places.bus.deliver(self, agent, self.queue)

    @property
    def settings(self) -> WorkerSettings:
        """What its worker reads back from the environment."""
        return WorkerSettings(
            ledger_table=self._places.ledger.table.table_name,
            payload_bucket=self._places.ledger.bucket.bucket_name,
            agent_name=self.agent.name,
            queue_url=self.queue.queue_url,
        )

    def let_work(self, role: iam.IRole) -> None:
        """Let ``role`` do the agent's work, and what its table in the fleet allows."""
        ledger = self._places.ledger
        ledger.allow(role, "GetItem", "PutItem", "UpdateItem", "Query")
        ledger.allow_get(role, BODIES, RESULTS)
        ledger.allow_put(role, BODIES, RESULTS)
        self._places.secrets.allow(role, self.agent.secrets)
        self._allow_queue(role)
        self._widen(role)

    def _allow_queue(self, role: iam.IRole) -> None:
        role.add_to_principal_policy(
            iam.PolicyStatement(
                actions=[
                    "sqs:ChangeMessageVisibility",
                    "sqs:DeleteMessage",
                    "sqs:GetQueueAttributes",
                    "sqs:ReceiveMessage",
                    # A run that goes on later does so under a new message.
                    "sqs:SendMessage",
                ],
                resources=[self.queue.queue_arn],
            )
        )
        self._places.encryption.allow_send(role)

    def _widen(self, role: iam.IRole) -> None:
        """Let ``role`` do what ``allow`` says; the fleet has no wildcards."""
        for grant in self.agent.allow:
            role.add_to_principal_policy(
                iam.PolicyStatement(
                    actions=list(grant.actions), resources=list(grant.resources)
                )
            )
