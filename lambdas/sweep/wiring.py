"""The sweep of a deployment, for its function and for ``bellhop relay``."""

from __future__ import annotations

from lambdas.shared import clock
from lambdas.shared.adapters import dynamodb
from lambdas.shared.adapters.eventbridge import EventBridge
from lambdas.shared.adapters.queues import SqsBacklogs
from lambdas.shared.fleet import Fleet
from lambdas.shared.settings import SweepSettings
from lambdas.sweep.sweep import Sweep


def sweep(settings: SweepSettings, fleet: Fleet) -> Sweep:
    """Return the sweep over the things that ``settings`` name; nothing is called."""
    return Sweep(
        agents=fleet.agents.values(),
        bus=EventBridge(settings.bus_name),
        ledger=dynamodb.ledger(settings, ledger_days=fleet.ledger_days),
        table=dynamodb.table(settings),
        backlogs=SqsBacklogs(settings.queues_of(fleet.agents)),
        clock=clock.now,
    )
