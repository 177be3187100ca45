"""The sweep: every quarter of an hour it looks for events that nobody carried."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from aws_cdk import aws_iam as iam
from aws_cdk import aws_sqs as sqs
from constructs import Construct

from lambdas.shared.settings import SweepSettings
from stacks.bus import Bus
from stacks.function import Functions
from stacks.ledger import Ledger
from stacks.timer import ScheduleGroup, Timer

_PERIOD_MINUTES = 15
# Less than the period: a sweep that comes late would look at its successor's window.
_OLDEST_REQUEST_SECONDS = 600
_TIMEOUT_SECONDS = 300
_MEMORY_MB = 512


class Sweep(Construct):
    """Re-publishes what the relay lost, and nothing that decision 0010 rules out."""

    def __init__(
        self,
        scope: Construct,
        id: str,
        *,
        functions: Functions,
        queues: Mapping[str, sqs.Queue],
        ledger: Ledger,
        bus: Bus,
        schedules: ScheduleGroup,
    ) -> None:
        """Make the sweep and its schedule."""
        super().__init__(scope, id)
        sweep = functions.make(
            self,
            "Sweep",
            name="sweep",
            settings=SweepSettings(
                ledger_table=ledger.table.table_name,
                payload_bucket=ledger.bucket.bucket_name,
                bus_name=bus.bus.event_bus_name,
                queue_urls=listed(list(queues.values())),
            ),
            timeout_seconds=_TIMEOUT_SECONDS,
            memory_mb=_MEMORY_MB,
        )
        ledger.allow(sweep.role, "GetItem", "PutItem", "Query", "UpdateItem")
        ledger.allow(sweep.role, "Query", index="by-time")
        bus.allow_put(sweep.role)
        if queues:
            sweep.role.add_to_principal_policy(
                iam.PolicyStatement(
                    actions=["sqs:GetQueueAttributes"],
                    resources=[queue.queue_arn for queue in queues.values()],
                )
            )
        timer = Timer(
            expression=f"rate({_PERIOD_MINUTES} minutes)",
            oldest_request_seconds=_OLDEST_REQUEST_SECONDS,
        )
        timer.call(self, sweep, schedules)


def listed(queues: Sequence[sqs.Queue]) -> str:
    """Return queues as ``queue_urls`` of a function's settings wants them."""
    # Put together by hand: both are references, which hold nothing to escape.
    urls = [queue.queue_url for queue in queues[:1]]
    names = [queue.queue_name for queue in queues[1:]]
    return "[" + ",".join(f'"{each}"' for each in (*urls, *names)) + "]"
