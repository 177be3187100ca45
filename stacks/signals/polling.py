"""Alarms of the workers that poll: their containers, and what is done to their runs."""

from __future__ import annotations

from collections.abc import Iterator

from stacks.alarms import MOST_METRICS, Alarm, Alarms, Metric, ours
from stacks.signals.watched import Watched, Worker, filled

# Each agent takes two metrics of an alarm.
_AGENTS_PER_ALARM = MOST_METRICS // 2

# Why a run was ended; not "stopped", which every deployment may do.
_AT_FAULT = ("crashed", "stalled", "too_long", "outlasted", "lost")


def add(fleet: Watched, alarms: Alarms) -> None:
    """Add them, where some worker polls."""
    if not fleet.polling:
        return
    for alarm in (*_absent(fleet), _stuck(), _heartbeat(), _killed()):
        alarms.add(alarm)
    if any(worker.agent.business_hours for worker in fleet.polling):
        alarms.add(_missing())


def _absent(fleet: Watched) -> Iterator[Alarm]:
    for start in range(0, len(fleet.polling), _AGENTS_PER_ALARM):
        few = fleet.polling[start : start + _AGENTS_PER_ALARM]
        shares, metrics = [], {}
        for number, worker in enumerate(few, start=1):
            waiting, running = f"w{number}", f"r{number}"
            metrics[waiting] = _waiting(worker)
            metrics[running] = _running(worker)
            shares.append(
                f"IF(FILL({waiting},0)>0,IF(FILL({running},0)<1,1,0),0)",
            )
        yield Alarm(
            name="worker-absent",
            meaning="Work waits for an agent, and none of its containers runs.",
            because="20 of 25 minutes; from nothing a container takes three or four,"
            " and another one when the first does not start.",
            metrics=metrics,
            expression=f"MAX([{','.join(shares)}])",
            threshold=1,
            least=4,
            of=5,
            pages=True,
            number=start // _AGENTS_PER_ALARM + 1,
        )


def _waiting(worker: Worker) -> Metric:
    return Metric(
        namespace="AWS/SQS",
        name="ApproximateNumberOfMessagesVisible",
        statistic="Minimum",
        dimensions={"QueueName": worker.queue},
    )


def _running(worker: Worker) -> Metric:
    """Return what has a sample only while a container runs."""
    return Metric(
        namespace="AWS/ECS",
        name="CPUUtilization",
        statistic="SampleCount",
        dimensions=dict(worker.service or {}),
    )


def _stuck() -> Alarm:
    return Alarm(
        name="worker-stuck",
        meaning="Workers that poll say that they are stuck: they do not reach their"
        " queue or the ledger, or cannot start the agent.",
        because="twice in 15 minutes; ECS replaces a worker that is stuck, and once may"
        " be all that was needed.",
        metrics={"stuck": ours("WorkersStuck")},
        threshold=1,
        least=2,
        of=3,
        pages=False,
    )


def _heartbeat() -> Alarm:
    return Alarm(
        name="heartbeat-failing",
        meaning="Runs in progress are not renewed: the queue or the ledger refuses.",
        because="three in five minutes, twice in three; two in a row are borne, a third"
        " costs the run its lease.",
        metrics={"failed": ours("HeartbeatsFailed")},
        threshold=3,
        least=2,
        of=3,
        pages=False,
    )


def _killed() -> Alarm:
    metrics = {why: ours("RunsKilled", Why=why) for why in _AT_FAULT}
    return Alarm(
        name="runs-killed",
        meaning="Runs are ended from outside: they stall, last too long or end their"
        " process.",
        because="three in an hour; each costs a receive, and the last one the run.",
        metrics=metrics,
        expression=f"SUM({filled(metrics)})",
        threshold=3,
        period_seconds=3600,
        pages=False,
    )


def _missing() -> Alarm:
    return Alarm(
        name="work-missing",
        meaning="An agent expects work in its business hours, and nothing arrives.",
        because="ten minutes after expect_every_minutes; a worker that has just started"
        " says it every minute.",
        metrics={"degraded": ours("WorkersDegraded")},
        threshold=1,
        least=2,
        of=2,
        pages=False,
    )
