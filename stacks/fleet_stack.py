"""The stack: everything ``fleet.toml`` asks for, and what leads to it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from aws_cdk import CfnOutput, CfnResource, CfnRule, CfnRuleAssertion, Fn, Stack
from constructs import Construct

from lambdas.shared.fleet import Fleet, FleetError
from lambdas.shared.senders import SenderTraits
from stacks.bus import Bus
from stacks.code import Assets
from stacks.encryption import Encryption
from stacks.ingress import Ingress
from stacks.ledger import Ledger
from stacks.queues import FailureQueues
from stacks.relay import Relay
from stacks.secrets import Secrets
from stacks.sweep import Sweep
from stacks.workers import Workers

# CloudFormation takes 500; the rest is room for one careful change.
MOST_RESOURCES = 450


class FleetStack(Stack):
    """Everything the fleet asks for."""

    def __init__(
        self,
        scope: Construct,
        id: str,
        *,
        fleet: Fleet,
        traits: Mapping[str, SenderTraits],
        assets: Assets,
        **kwargs: Any,
    ) -> None:
        """Build the fleet; ``traits`` are those of each source's sender."""
        super().__init__(scope, id, **kwargs)
        encryption = Encryption(self, "Encryption")
        ledger = Ledger(
            self, "Ledger", encryption=encryption, ledger_days=fleet.ledger_days
        )
        failures = FailureQueues(self, "FailureQueues", encryption=encryption)
        secrets = Secrets(
            self,
            "Secrets",
            names=[
                source.secret_name
                for name, source in fleet.sources.items()
                if traits[name].secret
            ],
            encryption=encryption,
        )
        bus = Bus(self, "Bus", failures=failures)
        ingress = Ingress(
            self,
            "Ingress",
            code=assets.code(*(each.needs for each in traits.values())),
            warm=fleet.warm or 0,
            ledger=ledger,
            secrets=secrets,
            encryption=encryption,
        )
        workers = Workers(
            self,
            "Workers",
            agents=fleet.agents,
            code=assets.code("agents"),
            ledger=ledger,
            bus=bus,
            secrets=secrets,
            encryption=encryption,
        )
        Relay(
            self,
            "Relay",
            code=assets.code(),
            ledger=ledger,
            bus=bus,
            failures=failures,
            encryption=encryption,
        )
        Sweep(
            self,
            "Sweep",
            code=assets.code(),
            queues=workers.queues,
            ledger=ledger,
            bus=bus,
            failures=failures,
            encryption=encryption,
        )
        self._say("ApiUrl", ingress.api.api_endpoint)
        self._say("LedgerTable", ledger.table.table_name)
        self._say("PayloadBucket", ledger.bucket.bucket_name)
        self._say("BusName", bus.bus.event_bus_name)
        self._say("RuleDeadLetters", failures.rules.queue_url)
        self._say("ScheduleDeadLetters", failures.schedules.queue_url)
        self._say("RelayParked", failures.parked.queue_url)
        self._say("AsyncFailures", failures.asynchronous.queue_url)
        for name, worker in workers.by_agent.items():
            agent = fleet.agents[name].logical_name
            self._say(f"Queue{agent}", worker.queue.queue_url)
            self._say(f"DeadLetters{agent}", worker.dead_letters.queue_url)
        if fleet.region:
            self._pin(fleet.region)
        self._refuse_oversize(len(fleet.agents))

    def _say(self, name: str, value: str) -> None:
        CfnOutput(self, name, value=value)

    def _pin(self, region: str) -> None:
        """Let CloudFormation itself refuse every other region."""
        CfnRule(
            self,
            "Region",
            assertions=[
                CfnRuleAssertion(
                    assert_=Fn.condition_equals(self.region, region),
                    assert_description=f"[fleet] region = {region!r} pins this fleet.",
                )
            ],
        )

    def _refuse_oversize(self, agents: int) -> None:
        constructs = self.node.find_all()
        count = sum(1 for each in constructs if CfnResource.is_cfn_resource(each))
        if count > MOST_RESOURCES:
            raise FleetError(
                [
                    f"fleet.toml: agents: {agents} agents make {count} resources,"
                    f" {MOST_RESOURCES} fit one stack: move some agents, with the"
                    " sources they listen to, into a second fleet.toml and deploy"
                    " that as a stack of its own"
                ]
            )
