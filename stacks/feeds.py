"""The fleet's feeds: the poller, and a schedule for each that it looks at."""

from __future__ import annotations

import json
from collections.abc import Mapping

from constructs import Construct

from lambdas.shared.cron import longest_of
from lambdas.shared.fleet import Feed, logical_name
from lambdas.shared.settings import PollerSettings
from stacks.function import Functions
from stacks.ledger import BODIES, Ledger
from stacks.schedules import MEASURED_FROM
from stacks.secrets import Secrets
from stacks.timer import ScheduleGroup, Timer, keep_failed

# A thousand items take a minute to write down, the slowest site two to answer; and a
# look that repeats another compares each item, and may write each once more, as edited.
_TIMEOUT_SECONDS = 600
# Ten megabytes of nothing but brackets take 300 MB to read.
_MEMORY_MB = 1024
# A look that comes late is as good as the next one.
_LEAST_SECONDS, _MOST_SECONDS = 60, 600


class Feeds(Construct):
    """One poller for all; what one feed costs it does not cost the others."""

    def __init__(
        self,
        scope: Construct,
        id: str,
        *,
        feeds: Mapping[str, Feed],
        clock: ScheduleGroup,
        functions: Functions,
        ledger: Ledger,
        secrets: Secrets,
    ) -> None:
        """Make it; ``clock`` is the group of the schedules that call it."""
        super().__init__(scope, id)
        poller = functions.make(
            self,
            "Poller",
            name="poller",
            settings=PollerSettings(
                ledger_table=ledger.table.table_name,
                payload_bucket=ledger.bucket.bucket_name,
            ),
            timeout_seconds=_TIMEOUT_SECONDS,
            memory_mb=_MEMORY_MB,
        )
        ledger.allow(poller.role, "PutItem", "UpdateItem")
        ledger.allow_put(poller.role, BODIES)
        if any(each.edits == "accept" for each in feeds.values()):
            # Whether an item that the ledger knows was edited, its event tells.
            ledger.allow(poller.role, "GetItem")
            ledger.allow_get(poller.role, BODIES)
        secrets.allow(
            poller.role, [each.secret_name for each in feeds.values() if each.secret]
        )
        keep_failed(
            poller, poller, clock.failures, oldest_request_seconds=_MOST_SECONDS
        )
        clock.allow_call(poller)
        for name, feed in feeds.items():
            clock.add(
                self,
                f"Look{logical_name(name)}",
                timer=_timer_of(feed),
                function=poller,
            )


def _timer_of(feed: Feed) -> Timer:
    longest = longest_of(feed.expression, feed.timezone, MEASURED_FROM)
    half = int(longest.total_seconds()) // 2
    return Timer(
        expression=feed.expression,
        timezone=None if feed.rate else feed.timezone,
        oldest_request_seconds=max(min(half, _MOST_SECONDS), _LEAST_SECONDS),
        input=json.dumps({"source": feed.name}),
        is_enabled=feed.enabled,
    )
