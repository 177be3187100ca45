"""The stack: everything ``fleet.toml`` asks for, and what leads to it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from aws_cdk import CfnOutput, CfnResource, CfnRule, CfnRuleAssertion, Fn, Stack
from constructs import Construct

from lambdas.shared.fleet import Fleet, FleetError, logical_name
from lambdas.shared.senders import SenderTraits
from stacks.alarms import Alarms
from stacks.bus import Bus
from stacks.calendars import Calendars
from stacks.code import Assets
from stacks.dashboard import Dashboard
from stacks.digest import Digest
from stacks.encryption import Encryption
from stacks.fargate.containers import Containers
from stacks.fargate.network import Network
from stacks.feeds import Feeds
from stacks.function import Functions
from stacks.ingress import Ingress
from stacks.ledger import Ledger
from stacks.queues import FailureQueues
from stacks.relay import Relay
from stacks.schedules import Schedules
from stacks.secrets import Secrets
from stacks.signals import Watched, add_all, watched
from stacks.sweep import Sweep
from stacks.timer import ScheduleGroup
from stacks.work import Places
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
        self._fleet = fleet
        encryption = Encryption(self, "Encryption")
        ledger = Ledger(
            self, "Ledger", encryption=encryption, ledger_days=fleet.ledger_days
        )
        failures = FailureQueues(self, "FailureQueues", encryption=encryption)
        secrets = Secrets(
            self, "Secrets", names=_secret_names(fleet, traits), encryption=encryption
        )
        bus = Bus(self, "Bus", failures=failures)
        places = Places(ledger=ledger, bus=bus, secrets=secrets, encryption=encryption)
        functions = Functions(assets=assets, encryption=encryption, traits=traits)
        ingress = self._make_door(functions, places)
        workers = self._make_workers(functions, places, assets)
        group = ScheduleGroup(self, "Clock", failures=failures)
        self._make_carriers(functions, ledger, bus, group, workers)
        self._make_timed(functions, places, group)
        self._make_digest(functions, places, group, workers, failures)
        self._watch(
            watched(
                self,
                fleet,
                ingress=ingress,
                functions=functions,
                workers=workers,
                failures=failures,
            ),
            encryption,
        )
        self._tell(ingress, ledger, bus)
        self._tell_queues(failures, workers)
        self._pin(fleet.region)
        self._refuse_oversize(len(fleet.agents))

    def _make_door(self, functions: Functions, places: Places) -> Ingress:
        """Where events come in from the internet."""
        return Ingress(
            self,
            "Ingress",
            functions=functions,
            warm=self._fleet.warm or 0,
            reserved=self._fleet.reserved_receivers,
            ledger=places.ledger,
            secrets=places.secrets,
            encryption=places.encryption,
        )

    def _make_workers(
        self, functions: Functions, places: Places, assets: Assets
    ) -> Workers:
        """The agents; what containers need is there only where some agent polls."""
        fleet, containers = self._fleet, None
        if fleet.polling:
            network = Network(
                self,
                "Network",
                vpc=fleet.vpc,
                subnets=fleet.subnets,
                public_ip=fleet.public_ip,
            )
            containers = Containers(
                self, "Containers", network=network, image=assets.image()
            )
            self._say("Cluster", containers.cluster.ref)
        return Workers(
            self,
            "Workers",
            agents=fleet.agents,
            functions=functions,
            containers=containers,
            places=places,
        )

    def _make_carriers(
        self,
        functions: Functions,
        ledger: Ledger,
        bus: Bus,
        group: ScheduleGroup,
        workers: Workers,
    ) -> None:
        """From the ledger to the bus: at once, and what was missed a little later."""
        Relay(
            self,
            "Relay",
            functions=functions,
            ledger=ledger,
            bus=bus,
            failures=group.failures,
        )
        Sweep(
            self,
            "Sweep",
            functions=functions,
            ledger=ledger,
            bus=bus,
            schedules=group,
            queues=workers.queues,
        )

    def _make_timed(
        self, functions: Functions, places: Places, group: ScheduleGroup
    ) -> None:
        """What comes by the clock: ticks, tasks of calendars, items of feeds."""
        if self._fleet.schedules:
            Schedules(
                self,
                "Schedules",
                schedules=self._fleet.schedules,
                group=group,
                functions=functions,
                ledger=places.ledger,
            )
        if self._fleet.calendars:
            Calendars(
                self,
                "Calendars",
                calendars=self._fleet.calendars,
                clock=group,
                functions=functions,
                ledger=places.ledger,
                secrets=places.secrets,
            )
        if self._fleet.feeds:
            Feeds(
                self,
                "Feeds",
                feeds=self._fleet.feeds,
                clock=group,
                functions=functions,
                ledger=places.ledger,
                secrets=places.secrets,
            )

    def _make_digest(
        self,
        functions: Functions,
        places: Places,
        group: ScheduleGroup,
        workers: Workers,
        failures: FailureQueues,
    ) -> None:
        """The morning's word on what is dead, where somebody wants it."""
        if self._fleet.digest is None:
            return
        Digest(
            self,
            "Digest",
            settings=self._fleet.digest,
            functions=functions,
            dead_letters=workers.dead_letters,
            ledger=places.ledger,
            failures=failures,
            schedules=group,
            secrets=places.secrets,
            encryption=places.encryption,
        )

    def _watch(self, fleet: Watched, encryption: Encryption) -> None:
        """Alarms and the dashboard, over all that is in the stack by now."""
        alarms = Alarms(self, "Alarms", encryption=encryption)
        add_all(fleet, alarms)
        Dashboard(self, "Dashboard", fleet=fleet, alarms=alarms)
        self._say("AlarmTopic", alarms.notices.topic_arn)
        self._say("PageTopic", alarms.pages.topic_arn)

    def _tell(self, ingress: Ingress, ledger: Ledger, bus: Bus) -> None:
        self._say("ApiUrl", ingress.api.api_endpoint)
        self._say("LedgerTable", ledger.table.table_name)
        self._say("PayloadBucket", ledger.bucket.bucket_name)
        self._say("BusName", bus.bus.event_bus_name)

    def _tell_queues(self, failures: FailureQueues, workers: Workers) -> None:
        """Every queue is told by its URL."""
        self._say("RuleDeadLetters", failures.rules.queue_url)
        self._say("ScheduleDeadLetters", failures.schedules.queue_url)
        self._say("RelayParked", failures.parked.queue_url)
        self._say("AsyncFailures", failures.asynchronous.queue_url)
        for name, worker in workers.by_agent.items():
            self._say(f"Queue{logical_name(name)}", worker.queue.queue_url)
            self._say(f"DeadLetters{logical_name(name)}", worker.dead_letters.queue_url)

    def _say(self, name: str, value: str) -> None:
        CfnOutput(self, name, value=value)

    def _pin(self, region: str | None) -> None:
        """Let CloudFormation itself refuse any region but the one that is pinned."""
        if region is None:
            return
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


def _secret_names(fleet: Fleet, traits: Mapping[str, SenderTraits]) -> list[str]:
    """Some senders prove themselves without a secret of ours."""
    sources = fleet.sources.values()
    names = [each.secret_name for each in sources if traits[each.name].secret]
    names += [each.secret_name for each in fleet.calendars.values()]
    names += [each.secret_name for each in fleet.feeds.values() if each.secret]
    return names if fleet.digest is None else [*names, fleet.digest.secret_name]
