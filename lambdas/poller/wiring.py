"""Puts the poller together for Lambda."""

from __future__ import annotations

import os

from lambdas.poller.poller import Poller
from lambdas.shared import clock
from lambdas.shared.adapters import dynamodb, https
from lambdas.shared.adapters.secretsmanager import SecretsManager
from lambdas.shared.fleet import deployed
from lambdas.shared.secrets import Secrets
from lambdas.shared.settings import PollerSettings


def poller() -> Poller:
    """Return the poller of this deployment."""
    settings = PollerSettings.from_env(os.environ)
    fleet = deployed()
    secrets = Secrets(SecretsManager(), clock.now)
    return Poller(
        fleet=fleet,
        ledger=dynamodb.ledger(settings, ledger_days=fleet.ledger_days),
        table=dynamodb.table(settings),
        exchange=https.exchange,
        secret_of=lambda name: secrets.get(name).current,
        clock=clock.now,
    )
