"""The relay: from the ledger's stream to the bus."""

from __future__ import annotations

import json

from aws_cdk import aws_lambda as lambda_
from constructs import Construct

from lambdas.shared.settings import RelaySettings
from stacks.bus import Bus
from stacks.function import Function, Functions
from stacks.ledger import Ledger
from stacks.queues import FailureQueues

_TIMEOUT_SECONDS = 60
_MEMORY_MB = 512
_BATCH_SIZE = 100
# A stream forgets a record after 24 h; until then every failure may pass.
_OLDEST_RECORD_SECONDS = 86_400

# Newly accepted events alone, and not those that AWS put on a queue itself.
_ACCEPTED = {
    "eventName": ["INSERT"],
    "dynamodb": {
        "Keys": {"sk": {"S": ["event"]}},
        "NewImage": {"via": {"S": ["door"]}},
    },
}


class Relay(Construct):
    """Publishes each newly accepted event; parks what never can be."""

    def __init__(
        self,
        scope: Construct,
        id: str,
        *,
        functions: Functions,
        ledger: Ledger,
        bus: Bus,
        failures: FailureQueues,
    ) -> None:
        """Make the relay, fed by the ledger's stream."""
        super().__init__(scope, id)
        relay = functions.make(
            self,
            "Relay",
            name="relay",
            settings=RelaySettings(
                ledger_table=ledger.table.table_name,
                payload_bucket=ledger.bucket.bucket_name,
                bus_name=bus.bus.event_bus_name,
                parked_queue_url=failures.parked.queue_url,
            ),
            timeout_seconds=_TIMEOUT_SECONDS,
            memory_mb=_MEMORY_MB,
        )
        ledger.allow(relay.role, "PutItem")
        ledger.allow_stream(relay.role)
        ledger.allow_lost_batches(relay.role)
        bus.allow_put(relay.role)
        failures.allow_send(relay.role, failures.parked)
        self._feed(relay, ledger)

    def _feed(self, relay: Function, ledger: Ledger) -> None:
        properties = lambda_.CfnEventSourceMapping
        pattern = json.dumps(_ACCEPTED, separators=(",", ":"))
        # L1: the L2 source would also grant listing every stream of the account, and
        # reading and deleting every object of the bucket.
        lambda_.CfnEventSourceMapping(
            self,
            "Stream",
            function_name=relay.function.function_name,
            event_source_arn=ledger.table.table_stream_arn,
            starting_position="TRIM_HORIZON",
            batch_size=_BATCH_SIZE,
            bisect_batch_on_function_error=True,
            maximum_retry_attempts=-1,
            maximum_record_age_in_seconds=_OLDEST_RECORD_SECONDS,
            filter_criteria=properties.FilterCriteriaProperty(
                filters=[properties.FilterProperty(pattern=pattern)]
            ),
            # A bucket, not a queue: a queue would be told which batch was lost, not
            # what was in it.
            destination_config=properties.DestinationConfigProperty(
                on_failure=properties.OnFailureProperty(
                    destination=ledger.bucket.bucket_arn
                )
            ),
        )
