"""Alarms of the agents, over all of them: the digest and the ledger name which."""

from __future__ import annotations

from collections.abc import Mapping

from stacks.alarms import Alarm, Metric, ours
from stacks.signals.watched import Watched, filled, portions


def alarms(fleet: Watched) -> list[Alarm]:
    """Return them."""
    return [
        *_growing(fleet),
        *_standing(fleet),
        *_dead_letters(fleet),
        *_at_cap(fleet),
        *_crashing(fleet),
        *_slow(fleet),
        _skipped(),
    ]


def _visible(queue: str) -> Metric:
    return Metric(
        namespace="AWS/SQS",
        name="ApproximateNumberOfMessagesVisible",
        statistic="Maximum",
        dimensions={"QueueName": queue},
    )


def _growing(fleet: Watched) -> list[Alarm]:
    queues = [_visible(worker.queue) for worker in fleet.workers]
    return [
        Alarm(
            name="queue-growing",
            meaning="Agents' queues grow: more comes than is worked off.",
            because="more at each look for 25 of 30 minutes, and at least 50 messages:"
            " a burst grows for a few minutes and then shrinks.",
            metrics=few,
            expression=f"IF(SUM({filled(few)})>=50,DIFF(SUM({filled(few)})),0)",
            is_at_fault=">",
            threshold=0,
            least=5,
            of=6,
            pages=False,
            number=number,
        )
        for number, few in portions(queues)
    ]


def _standing(fleet: Watched) -> list[Alarm]:
    oldest = [
        Metric(
            namespace="AWS/SQS",
            name="ApproximateAgeOfOldestMessage",
            statistic="Maximum",
            dimensions={"QueueName": worker.queue},
        )
        for worker in fleet.workers
    ]
    return [
        Alarm(
            name="queue-standing",
            meaning="A message has waited in an agent's queue for two days: nobody"
            " takes from it, or it is passed over.",
            because="half of the four days after which SQS drops it. Three attempts"
            " that were each put off for eleven hours are done by then.",
            metrics=few,
            expression=f"MAX({filled(few)})",
            is_at_fault=">",
            threshold=2 * 86_400,
            least=3,
            of=3,
            pages=True,
            number=number,
        )
        for number, few in portions(oldest)
    ]


def _dead_letters(fleet: Watched) -> list[Alarm]:
    queues = [_visible(worker.dead_letters) for worker in fleet.workers]
    return [
        Alarm(
            name="dead-letters",
            meaning="Dead letters pile up in the agents' dead letter queues.",
            because="ten; one can wait for the morning's digest, ten are a fault that"
            " goes on.",
            metrics=few,
            expression=f"SUM({filled(few)})",
            threshold=10,
            pages=True,
            number=number,
        )
        for number, few in portions(queues)
    ]


def _at_cap(fleet: Watched) -> list[Alarm]:
    caps = [worker.agent.max_concurrency for worker in fleet.workers]
    metrics = [worker.at_work for worker in fleet.workers]
    found, start = [], 0
    for number, few in portions(metrics):
        shares = ",".join(
            f"100*FILL({name},0)/{cap}"
            for name, cap in zip(few, caps[start:], strict=False)
        )
        start += len(few)
        found.append(
            Alarm(
                name="worker-at-cap",
                meaning="An agent works at the most that its max_concurrency allows.",
                because="nine tenths of it for 10 of 15 minutes; a burst is over"
                " sooner.",
                metrics=few,
                expression=f"MAX([{shares}])",
                threshold=90,
                period_seconds=60,
                least=10,
                of=15,
                pages=False,
                number=number,
            )
        )
    return found


def _crashing(fleet: Watched) -> list[Alarm]:
    metrics = [
        Metric(
            namespace="AWS/Lambda",
            name="Errors",
            dimensions={"FunctionName": function},
        )
        for function in fleet.worker_functions
    ]
    return [
        Alarm(
            name="worker-crashes",
            meaning="Workers time out, run out of memory or exit.",
            because="three in five minutes, twice in three: a run that merely fails is"
            " no error of the function, so each is a crash.",
            metrics=few,
            expression=f"SUM({filled(few)})",
            threshold=3,
            least=2,
            of=3,
            pages=False,
            number=number,
        )
        for number, few in portions(metrics)
    ]


def _slow(fleet: Watched) -> list[Alarm]:
    """Over the fleet; where some agents take hours by intent, over the others."""
    watched = [ours("AcceptedToDoneSeconds", "p95")]
    if fleet.polling:
        watched = [
            ours("AcceptedToDoneSeconds", "p95", Agent=worker.agent.name)
            for worker in fleet.called
        ]
    return [_late(fleet, number, few) for number, few in portions(watched)]


def _late(fleet: Watched, number: int, took: Mapping[str, Metric]) -> Alarm:
    longest = fleet.longest_call_seconds
    return Alarm(
        name="end-to-end-p95",
        meaning="Events are done late, counted from their acceptance.",
        because=f"five minutes and two attempts of the slowest agent ({longest} s"
        " each), for a quarter of an hour.",
        metrics=took,
        expression=f"MAX([{','.join(took)}])" if len(took) > 1 else None,
        is_at_fault=">",
        threshold=300 + 2 * longest,
        least=3,
        of=3,
        pages=False,
        number=number,
    )


def _skipped() -> Alarm:
    return Alarm(
        name="skipped",
        meaning="Runs or ticks are skipped: over max_runs_per_hour, or the tick before"
        " was not over.",
        because="one; work that was asked for is not done.",
        metrics={"runs": ours("RunsSkipped"), "ticks": ours("TicksSkipped")},
        expression="SUM([FILL(runs,0),FILL(ticks,0)])",
        threshold=1,
        pages=False,
    )
