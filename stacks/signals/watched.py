"""What the alarms and the dashboard look at: the parts of one fleet by name."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from aws_cdk import Fn, Stack
from aws_cdk import aws_events as events
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_scheduler as scheduler

from lambdas.shared.fleet import Agent, Feed, Fleet
from stacks import work
from stacks.alarms import MOST_METRICS, Metric
from stacks.fargate.service import PollingWorker
from stacks.function import Function, Functions
from stacks.ingress import Ingress
from stacks.queues import FailureQueues
from stacks.workers import CalledWorker, Workers

# What one query of the logs looks at, by CloudWatch's own limit.
MOST_LOGS = 50


@dataclass(frozen=True, slots=True, kw_only=True)
class Worker:
    """One agent's worker, by the names that AWS counts under.

    It is a function, or a service of containers that poll.
    """

    agent: Agent
    queue: str
    dead_letters: str
    function: str | None = None
    service: Mapping[str, str] | None = None

    @property
    def at_work(self) -> Metric:
        """How many of its runs are at work at once.

        Of a worker that polls: the messages that somebody has received. One that waits
        for its next attempt counts among them.
        """
        if self.function is None:
            return Metric(
                namespace="AWS/SQS",
                name="ApproximateNumberOfMessagesNotVisible",
                statistic="Maximum",
                dimensions={"QueueName": self.queue},
            )
        return Metric(
            namespace="AWS/Lambda",
            name="ConcurrentExecutions",
            statistic="Maximum",
            dimensions={"FunctionName": self.function},
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Watched:
    """A fleet, by the names that AWS counts under.

    ``functions`` are ours without the workers, by the folder of their code;
    ``rules`` hold the dimensions of each.
    """

    api: str
    functions: Mapping[str, str]
    asynchronous: Sequence[str]
    workers: Sequence[Worker]
    failure_queues: Mapping[str, str]
    rules: Sequence[Mapping[str, str]]
    schedule_groups: Sequence[str]
    schedules: Sequence[str]
    calendars: Sequence[str]
    sources: Sequence[str]
    feeds: Sequence[Feed]
    log_groups: Sequence[str]

    @property
    def longest_call_seconds(self) -> int:
        """The longest that a worker which is a function may work at a time."""
        return max((each.agent.timeout_seconds for each in self.called), default=0)

    @property
    def called(self) -> Sequence[Worker]:
        """The workers that Lambda calls."""
        return [each for each in self.workers if each.function is not None]

    @property
    def worker_functions(self) -> Sequence[str]:
        """The workers that are functions."""
        return [each.function for each in self.workers if each.function is not None]

    @property
    def polling(self) -> Sequence[Worker]:
        """The workers that poll."""
        return [each for each in self.workers if each.service is not None]


def watched(
    stack: Stack,
    fleet: Fleet,
    *,
    ingress: Ingress,
    functions: Functions,
    workers: Workers,
    failures: FailureQueues,
) -> Watched:
    """Look through ``stack``: whatever is in it by now is watched."""
    parts = stack.node.find_all()
    own = {name: each for name, each in functions.made if name != "worker"}
    configured = [
        part.function_name
        for part in parts
        if isinstance(part, lambda_.CfnEventInvokeConfig)
    ]
    return Watched(
        api=ingress.api.api_id,
        functions={name: _name(each) for name, each in own.items()},
        asynchronous=configured,
        workers=[_worker(worker) for worker in workers.by_agent.values()],
        failure_queues={
            "rules": failures.rules.queue_name,
            "schedules": failures.schedules.queue_name,
            "relay": failures.parked.queue_name,
            "async": failures.asynchronous.queue_name,
        },
        rules=[_rule(p) for p in parts if isinstance(p, events.CfnRule)],
        schedule_groups=[
            p.ref for p in parts if isinstance(p, scheduler.CfnScheduleGroup)
        ],
        schedules=[each.name for each in fleet.schedules.values() if each.enabled],
        calendars=list(fleet.calendars),
        sources=list(fleet.sources),
        feeds=[each for each in fleet.feeds.values() if each.enabled],
        log_groups=_log_groups(workers, functions),
    )


def batched(names: Sequence[str], size: int) -> Iterator[Sequence[str]]:
    """Yield the names, ``size`` at a time (Python's own comes with 3.12)."""
    for start in range(0, len(names), size):
        yield names[start : start + size]


def portions(metrics: Sequence[Metric]) -> Iterator[tuple[int, dict[str, Metric]]]:
    """Yield the metrics by ids, as many as one alarm takes, and the portion's number.

    An expression may name them m1, m2 and so on.
    """
    for number, start in enumerate(range(0, len(metrics), MOST_METRICS), start=1):
        few = metrics[start : start + MOST_METRICS]
        yield number, {f"m{n}": metric for n, metric in enumerate(few, start=1)}


def filled(ids: Mapping[str, Metric]) -> str:
    """Return the list of these metrics for an expression; silence counts as none."""
    return "[" + ",".join(f"FILL({name},0)" for name in ids) + "]"


def _log_groups(workers: Workers, functions: Functions) -> list[str]:
    groups = [each.log_group for each in workers.polling.values()]
    groups += [each.log_group for _, each in functions.made]
    return [each.log_group_name for each in groups[:MOST_LOGS]]


def _worker(worker: work.Worker) -> Worker:
    queue, dead_letters = worker.queue.queue_name, worker.dead_letters.queue_name
    function = service = None
    if isinstance(worker, CalledWorker):
        function = _name(worker.function)
    if isinstance(worker, PollingWorker):
        service = worker.counted_under
    return Worker(
        agent=worker.agent,
        queue=queue,
        dead_letters=dead_letters,
        function=function,
        service=service,
    )


def _name(function: Function) -> str:
    return function.function.function_name


def _rule(rule: events.CfnRule) -> dict[str, str]:
    """Return the dimensions that EventBridge counts a rule under.

    From the ARN: ``Ref`` on a rule of another bus is ``BUS|NAME``. Rules of the
    default bus are counted without its name.
    """
    bus = rule.event_bus_name
    if bus is None or bus == "default":
        return {"RuleName": Fn.select(1, Fn.split("/", rule.attr_arn))}
    # A partner's bus has slashes in its name; ours is a reference, which has none.
    place = 2 + bus.count("/")
    name = Fn.select(place, Fn.split("/", rule.attr_arn))
    return {"EventBusName": bus, "RuleName": name}
