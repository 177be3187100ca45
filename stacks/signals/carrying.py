"""Alarms of what lies between the door and the agents."""

from __future__ import annotations

from collections.abc import Sequence

from stacks.alarms import Alarm, Metric, ours
from stacks.signals.watched import Watched, filled, portions

_LOST = "one: whatever it was, nobody will try again, and nothing else tells of it."


def alarms(fleet: Watched) -> list[Alarm]:
    """Return them."""
    return [
        _relay_age(),
        _stream(fleet),
        _undelivered(fleet),
        *_rules(fleet),
        *_schedules(fleet),
        *_asynchronous(fleet),
        *_functions(fleet, "Errors"),
        *_functions(fleet, "Throttles"),
        *_digest(fleet),
        *_not_called(fleet),
    ]


def _digest(fleet: Watched) -> list[Alarm]:
    if "dlq_digest" not in fleet.functions:
        return []
    return [
        Alarm(
            name="digest-failed",
            meaning="The digest of dead letters was not told.",
            because="one; it is what everybody relies on to hear of dead letters.",
            metrics={"errors": _lambda("Errors", fleet.functions["dlq_digest"])},
            threshold=1,
            pages=False,
        )
    ]


def _not_called(fleet: Watched) -> list[Alarm]:
    # A function that nobody calls has no errors, and what it would have told of is
    # missed by nobody. (Watcher, planner and poller have beats of their own.)
    hours = {"sweep": 3, "dlq_digest": 26}
    return [
        Alarm(
            name="not-called",
            meaning=f"{name} was not called: its schedule is disabled, or is gone.",
            because=f"{of} hours; it is called every"
            f" {'day' if name == 'dlq_digest' else 'quarter of an hour'}.",
            metrics={"calls": _lambda("Invocations", fleet.functions[name])},
            is_at_fault="<",
            threshold=1,
            period_seconds=3600,
            least=of,
            of=of,
            missing="breaching",
            # CloudWatch would count the hours before the deployment as silence.
            warm_up_minutes=60 * (of + 1),
            pages=False,
            number=number,
        )
        for number, (name, of) in enumerate(hours.items(), start=1)
        if name in fleet.functions
    ]


def _lambda(name: str, function: str, statistic: str = "Sum") -> Metric:
    return Metric(
        namespace="AWS/Lambda",
        name=name,
        statistic=statistic,
        dimensions={"FunctionName": function},
    )


def _relay_age() -> Alarm:
    return Alarm(
        name="relay-age",
        meaning="Accepted events reach the bus late.",
        because="two minutes, twice in three; a second is usual.",
        metrics={"age": ours("RelayAgeSeconds", "Maximum")},
        is_at_fault=">",
        threshold=120,
        period_seconds=60,
        least=2,
        of=3,
        pages=True,
    )


def _stream(fleet: Watched) -> Alarm:
    return Alarm(
        name="relay-behind",
        meaning="The relay does not read the ledger's stream, or repeats one batch.",
        because="five minutes, twice in three; the stream forgets after 24 hours. The"
        " relay's own metric is silent when it cannot run at all.",
        metrics={"age": _lambda("IteratorAge", fleet.functions["relay"], "Maximum")},
        is_at_fault=">",
        threshold=300_000,
        period_seconds=60,
        least=2,
        of=3,
        pages=True,
    )


def _undelivered(fleet: Watched) -> Alarm:
    ((_, metrics),) = portions(
        [
            Metric(
                namespace="AWS/SQS",
                name="ApproximateNumberOfMessagesVisible",
                statistic="Maximum",
                dimensions={"QueueName": queue},
            )
            for queue in fleet.failure_queues.values()
        ]
    )
    return Alarm(
        name="undelivered",
        meaning="Something lies in a failure queue: of rules, schedules, the relay or"
        " asynchronous functions.",
        because="one; it has reached no agent, and no redrive of the console does it.",
        metrics=metrics,
        expression=f"SUM({filled(metrics)})",
        threshold=1,
        pages=True,
    )


def _rules(fleet: Watched) -> list[Alarm]:
    metrics = [
        Metric(
            namespace="AWS/Events",
            name="InvocationsFailedToBeSentToDlq",
            dimensions=dimensions,
        )
        for dimensions in fleet.rules
    ]
    return _lost(
        "rule-lost",
        "A rule could write an event neither to its queue nor to its failure queue.",
        metrics,
    )


def _schedules(fleet: Watched) -> list[Alarm]:
    names = ("InvocationDroppedCount", "InvocationsFailedToBeSentToDeadLetterCount")
    metrics = [
        Metric(
            namespace="AWS/Scheduler", name=name, dimensions={"ScheduleGroup": group}
        )
        for group in fleet.schedule_groups
        for name in names
    ]
    return _lost(
        "schedule-lost",
        "A schedule dropped a call, or could not write it to its failure queue.",
        metrics,
    )


def _asynchronous(fleet: Watched) -> list[Alarm]:
    names = ("AsyncEventsDropped", "DestinationDeliveryFailures")
    metrics = [
        _lambda(name, function) for function in fleet.asynchronous for name in names
    ]
    return _lost(
        "async-lost",
        "Lambda gave up a call, or could not write it to the failure queue.",
        metrics,
    )


def _lost(name: str, meaning: str, metrics: Sequence[Metric]) -> list[Alarm]:
    return [
        Alarm(
            name=name,
            meaning=meaning,
            because=_LOST,
            metrics=few,
            expression=f"SUM({filled(few)})",
            threshold=1,
            pages=True,
            number=number,
        )
        for number, few in portions(metrics)
    ]


def _functions(fleet: Watched, metric: str) -> list[Alarm]:
    name, meaning, because = {
        "Errors": (
            "function-errors",
            "Functions of ours (no agent's) keep failing.",
            "two periods of three; one failure is repeated by whoever called.",
        ),
        "Throttles": (
            "function-throttles",
            "Functions of ours (no agent's) are refused: the account has no"
            " concurrency left.",
            "two periods of three; the door answers 503 meanwhile.",
        ),
    }[metric]
    metrics = [_lambda(metric, function) for function in fleet.functions.values()]
    return [
        Alarm(
            name=name,
            meaning=meaning,
            because=because,
            metrics=few,
            expression=f"SUM({filled(few)})",
            threshold=1,
            least=2,
            of=3,
            pages=metric == "Throttles",
            number=number,
        )
        for number, few in portions(metrics)
    ]
