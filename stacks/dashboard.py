"""The dashboard: from what is wrong, by where events are, down to single agents."""

from __future__ import annotations

from collections.abc import Sequence

from aws_cdk import Duration
from aws_cdk import aws_cloudwatch as cloudwatch
from constructs import Construct

from stacks.alarms import Alarms, Metric, ours
from stacks.signals import Watched

_PERIOD = Duration.minutes(5)
# A row has 24 columns.
_WHOLE, _HALF, _THIRD = 24, 12, 8

_HELP = (
    "### Somebody was woken?\nRed alarms first: each names its page in"
    " `docs/runbooks`. Then read downwards: **accepted** should become **succeeded**;"
    " what is missing between two lines is where to look.\n\n"
    "`bellhop events --state dead` and `bellhop show EVENT` tell about single events,"
    " `bellhop doctor` about the whole."
)
_FUNNEL = (
    "EventsAccepted",
    "EventsDuplicate",
    "EventsUnheard",
    "RunsStarted",
    "RunsSucceeded",
    "RunsFailed",
    "RunsSuspended",
    "RunsSkipped",
    "RunsDead",
)
_TICKS = ("CronTickFired", "TicksWaiting", "TicksSkipped", "TicksTooLate")
_HELD_UP = ("WorkersStuck", "HeartbeatsFailed", "WorkersDegraded")
_TROUBLE = ("MissedFires", "LateFires", "Overruns", "FailedTicks")


class Dashboard(Construct):
    """One page over the fleet; agents and schedules have their own lines in it."""

    def __init__(
        self, scope: Construct, id: str, *, fleet: Watched, alarms: Alarms
    ) -> None:
        """Draw it."""
        super().__init__(scope, id)
        self._fleet = fleet
        dashboard = cloudwatch.Dashboard(
            self, "Page", default_interval=Duration.hours(12)
        )
        rows = [
            self._wrong(alarms),
            self._funnel(),
            self._door(),
            self._trust(),
            self._carrying(),
            self._queues(),
            self._agents(),
            self._functions(),
        ]
        if fleet.polling:
            rows.append(self._containers())
        if fleet.schedules:
            rows.append(self._schedules())
        rows.append(self._errors())
        for row in rows:
            dashboard.add_widgets(*row)

    def _wrong(self, alarms: Alarms) -> list[cloudwatch.IWidget]:
        red = [
            cloudwatch.Alarm.from_alarm_arn(self, f"Alarm{number}", made.attr_arn)
            for number, made in enumerate(alarms.made)
        ]
        return [
            cloudwatch.TextWidget(markdown=_HELP, width=_THIRD, height=5),
            cloudwatch.AlarmStatusWidget(
                title="Alarms", alarms=red, width=_WHOLE - _THIRD, height=5
            ),
        ]

    def _funnel(self) -> list[cloudwatch.IWidget]:
        return [
            cloudwatch.SingleValueWidget(
                title="From accepted to succeeded",
                metrics=[_drawn(ours(name), name) for name in _FUNNEL],
                set_period_to_time_range=True,
                width=_WHOLE,
                height=3,
            ),
            _graph("Events and runs", [ours(name) for name in _FUNNEL], _WHOLE),
        ]

    def _door(self) -> list[cloudwatch.IWidget]:
        api = {"ApiId": self._fleet.api}
        answers = [
            Metric(namespace="AWS/ApiGateway", name=name, dimensions=api)
            for name in ("Count", "4xx", "5xx")
        ]
        times = [
            Metric(
                namespace="AWS/ApiGateway",
                name="Latency",
                statistic=statistic,
                dimensions=api,
            )
            for statistic in ("p50", "p99")
        ]
        return [
            _graph("Door: answers", answers, _THIRD),
            _graph(
                "Door: milliseconds (as the sender waits; in the receiver)",
                [*times, ours("ReceiverMilliseconds", "p99")],
                _THIRD,
            ),
            _search("Accepted by source", "Source", "EventsAccepted", _THIRD),
        ]

    def _trust(self) -> list[cloudwatch.IWidget]:
        """What was refused, and which of two secrets proves the senders."""
        return [
            _search("Refused", "Source,Reason", "EventsRefused", _HALF),
            _search("Secrets that matched", "Source,Which", "SecretMatched", _THIRD),
            _graph("Too large for AWS", [ours("GatewayRefusedBody")], _HALF - _THIRD),
        ]

    def _carrying(self) -> list[cloudwatch.IWidget]:
        stream = _lambda("IteratorAge", self._fleet.functions["relay"], "Maximum")
        failures = [
            _queue("ApproximateNumberOfMessagesVisible", queue)
            for queue in self._fleet.failure_queues.values()
        ]
        return [
            _graph("Relay: seconds", [ours("RelayAgeSeconds", "Maximum")], _THIRD),
            _graph("Relay: age of the stream, milliseconds", [stream], _THIRD),
            _graph("Failure queues: messages", failures, _THIRD),
        ]

    def _queues(self) -> list[cloudwatch.IWidget]:
        workers = self._fleet.workers
        waiting, oldest = (
            [_queue(name, worker.queue) for worker in workers]
            for name in (
                "ApproximateNumberOfMessagesVisible",
                "ApproximateAgeOfOldestMessage",
            )
        )
        dead = [
            _queue("ApproximateNumberOfMessagesVisible", worker.dead_letters)
            for worker in workers
        ]
        return [
            _graph("Queues: messages that wait", waiting, _THIRD),
            _graph("Queues: age of the oldest, seconds", oldest, _THIRD),
            _graph("Dead letters", dead, _THIRD),
        ]

    def _agents(self) -> list[cloudwatch.IWidget]:
        names = [worker.agent.name for worker in self._fleet.workers]
        done = [ours("AcceptedToDoneSeconds", "p95", Agent=name) for name in names]
        dead = [ours("RunsDead", Agent=name) for name in names]
        busy = [worker.at_work for worker in self._fleet.workers]
        return [
            _graph("Agents: p95 seconds from accepted to done", done, _THIRD),
            _graph("Agents: runs that died", dead, _THIRD),
            _graph("Agents: at work at once", busy, _THIRD),
        ]

    def _functions(self) -> list[cloudwatch.IWidget]:
        fleet = self._fleet
        functions = [*fleet.functions.values(), *fleet.worker_functions]
        return [
            _graph(
                f"Functions: {name.lower()}",
                [_lambda(name, function) for function in functions],
                _HALF,
            )
            for name in ("Errors", "Throttles")
        ]

    def _containers(self) -> list[cloudwatch.IWidget]:
        """The workers that poll: what a container uses, and what goes wrong."""
        used = [
            Metric(
                namespace="AWS/ECS",
                name=name,
                statistic="Maximum",
                dimensions=worker.service or {},
            )
            for worker in self._fleet.polling
            for name in ("CPUUtilization", "MemoryUtilization")
        ]
        return [
            _graph("Containers: CPU and memory, per cent", used, _THIRD),
            _graph("Containers: trouble", [ours(name) for name in _HELD_UP], _THIRD),
            _search("Runs ended from outside", "Agent,Why", "RunsKilled", _THIRD),
        ]

    def _schedules(self) -> list[cloudwatch.IWidget]:
        names = self._fleet.schedules
        fired = [ours(_TICKS[0], Schedule=name) for name in names]
        return [
            _graph("Schedules: ticks", fired, _THIRD),
            _graph(
                "Schedules: not run at once",
                [ours(name) for name in _TICKS[1:]],
                _THIRD,
            ),
            _graph(
                "Schedules: trouble (and the watcher's heartbeat)",
                [*(ours(name) for name in _TROUBLE), ours("WatcherHeartbeat")],
                _THIRD,
            ),
        ]

    def _errors(self) -> list[cloudwatch.IWidget]:
        return [
            cloudwatch.LogQueryWidget(
                title="What a human must act on: the newest errors",
                log_group_names=list(self._fleet.log_groups),
                query_lines=[
                    "fields @timestamp, message, event_id, agent, why, reason",
                    'filter level = "ERROR"',
                    "sort @timestamp desc",
                    "limit 50",
                ],
                width=_WHOLE,
                height=6,
            )
        ]


def _lambda(name: str, function: str, statistic: str = "Sum") -> Metric:
    return Metric(
        namespace="AWS/Lambda",
        name=name,
        statistic=statistic,
        dimensions={"FunctionName": function},
    )


def _queue(name: str, queue: str) -> Metric:
    return Metric(
        namespace="AWS/SQS",
        name=name,
        statistic="Maximum",
        dimensions={"QueueName": queue},
    )


def _drawn(metric: Metric, label: str | None = None) -> cloudwatch.Metric:
    return cloudwatch.Metric(
        namespace=metric.namespace,
        metric_name=metric.name,
        dimensions_map=dict(metric.dimensions),
        statistic=metric.statistic,
        period=_PERIOD,
        label=label,
    )


def _graph(title: str, metrics: Sequence[Metric], width: int) -> cloudwatch.GraphWidget:
    return cloudwatch.GraphWidget(
        title=title,
        left=[_drawn(metric) for metric in metrics],
        left_y_axis=cloudwatch.YAxisProps(min=0, show_units=False),
        width=width,
        height=6,
    )


def _search(
    title: str, dimensions: str, metric: str, width: int
) -> cloudwatch.GraphWidget:
    """Draw a metric for whatever values its dimensions have had."""
    found = f'{{Bellhop,{dimensions}}} MetricName="{metric}"'
    return cloudwatch.GraphWidget(
        title=title,
        left=[
            cloudwatch.MathExpression(
                expression=f"SEARCH('{found}', 'Sum', 300)", using_metrics={}, label=""
            )
        ],
        left_y_axis=cloudwatch.YAxisProps(min=0, show_units=False),
        width=width,
        height=6,
    )
