"""One agent's runner, put together over AWS, as Lambda's batches need it."""

from __future__ import annotations

import functools
import random
import uuid
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

from aws_lambda_powertools.utilities.batch import BatchProcessor

from lambdas.shared import clock
from lambdas.shared.adapters import dynamodb
from lambdas.shared.adapters.s3 import S3Bodies
from lambdas.shared.adapters.secretsmanager import SecretsManager
from lambdas.shared.adapters.sqs import SqsSender, SqsVisibility
from lambdas.shared.errors import BellhopError
from lambdas.shared.fleet import Agent, Fleet, deployed
from lambdas.shared.secrets import Secrets
from lambdas.shared.ticks import Ticks
from lambdas.worker import telling
from lambdas.worker.claim import Verdict
from lambdas.worker.delivery import Message, NotOurs, Visibility
from lambdas.worker.host import LambdaHost, TimeLeft
from lambdas.worker.runner import Ports, Runner

if TYPE_CHECKING:
    from aws_lambda_powertools.utilities.data_classes.sqs_event import SQSRecord

    from lambdas.shared.settings import WorkerSettings


# What an SQS mapping takes without a window to wait in; a thread is made when needed.
_LARGEST_BATCH = 10


class NotDone(Exception):
    """The record is reported as failed, so that its message comes back."""


class Worker:
    """Answers for each record of a batch by itself."""

    def __init__(self, agent: Agent, runner: Runner) -> None:
        """Hand every message to ``runner``."""
        self._agent = agent
        self._runner = runner

    def take(self, record: SQSRecord, lambda_context: TimeLeft) -> Verdict:
        """Run what one record carries.

        Raises:
            NotDone: its message must come back.
            NotOurs: it carries no event; it comes back until SQS moves it away.
            BellhopError: an event that AWS told could not be written down.
        """
        try:
            message = Message.from_record(record.raw_event)
            verdict = self._runner.take(message, LambdaHost(lambda_context))
        except NotOurs as error:
            telling.not_ours(self._agent.name, record.message_id, str(error))
            raise
        except BellhopError as error:
            telling.not_taken(self._agent.name, record.message_id, error)
            raise
        except Exception as error:
            # The batch processor would pass over it in silence.
            telling.broken(self._agent.name, record.message_id, error)
            raise
        if not verdict.is_done:
            raise NotDone(verdict)
        return verdict


class SideBySide(BatchProcessor):
    """Processes the records of a larger batch at the same time, in threads.

    Each is still a run of its own; together they share the process and its
    fate. A single message stays in the invocation's own thread.
    """

    def process(self) -> list[tuple[Any, ...]]:
        """Process each record, and return what became of each, in their order."""
        if len(self.records) == 1:
            return super().process()
        return list(_pool().map(self._process_record, self.records))


@functools.cache
def _pool() -> ThreadPoolExecutor:
    # Kept: ten new threads a batch would each wait for the interpreter to switch.
    return ThreadPoolExecutor(_LARGEST_BATCH, thread_name_prefix="record")


def from_settings(settings: WorkerSettings) -> Worker:
    """Return the worker of a deployed function; nothing is called yet."""
    fleet = deployed()
    agent = fleet.agents[settings.agent_name]
    queue = SqsVisibility(settings.queue_url)
    return Worker(agent, runner_of(agent, fleet, settings, queue))


def runner_of(
    agent: Agent, fleet: Fleet, settings: WorkerSettings, queue: Visibility
) -> Runner:
    """Return the runner of ``agent`` over AWS; ``queue`` hides what is due later."""
    secrets = Secrets(SecretsManager(), clock.now)
    ledger = dynamodb.ledger(settings, ledger_days=fleet.ledger_days)
    table = dynamodb.table(settings)
    ticks = Ticks(fleet=fleet, ledger=ledger, table=table, clock=clock.now)
    ports = Ports(
        ledger=ledger,
        table=table,
        bodies=S3Bodies(settings.payload_bucket),
        queue=queue,
        send=SqsSender(settings.queue_url),
        secret_of=lambda name: secrets.get(name).current,
        clock=clock.now,
        chance=random.SystemRandom().uniform,
        token=lambda: uuid.uuid4().hex,
        run_over=ticks.run_over,
    )
    return Runner(agent, ports)
