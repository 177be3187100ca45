"""What carries events: the bus, rules, schedules and the door."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from cli.doctor.deployed import Deployed, Finding, Missing, Resource, asked, last

_DEPLOY = "deploy again: cdk deploy"


def look(deployed: Deployed) -> Iterator[Finding]:
    """Compare rules, schedules and routes with their template."""
    for bus in deployed.of("Events::EventBus"):
        yield from _bus(deployed, bus)
    for rule in deployed.of("Events::Rule"):
        yield from _rule(deployed, rule)
    for schedule in deployed.of("Scheduler::Schedule"):
        yield from _schedule(deployed, schedule)
    for api in deployed.of("ApiGatewayV2::Api"):
        yield from _door(deployed, api)


def _bus(deployed: Deployed, bus: Resource) -> Iterator[Finding]:
    name = last(bus.physical)
    try:
        asked(lambda: deployed.client("events").describe_event_bus(Name=name))
    except Missing:
        yield Finding(check="rules", what=f"the bus {name} is gone", mend=_DEPLOY)


def _rule(deployed: Deployed, rule: Resource) -> Iterator[Finding]:
    events = deployed.client("events")
    bus = last(deployed.name_of(rule.properties.get("EventBusName")) or "default")
    name = last(rule.physical.rpartition("|")[2])
    try:
        found = asked(lambda: events.describe_rule(Name=name, EventBusName=bus))
        answer = asked(lambda: events.list_targets_by_rule(Rule=name, EventBusName=bus))
    except Missing:
        yield Finding(check="rules", what=f"the rule {name} is gone", mend=_DEPLOY)
        return
    wanted_state = rule.properties.get("State", "ENABLED")
    if found.get("State") != wanted_state:
        yield Finding(
            check="rules",
            what=f"the rule {name} is {found.get('State')}: its agent hears nothing",
            mend=f"aws events enable-rule --name {name} --event-bus-name {bus}",
        )
    pattern = json.loads(found.get("EventPattern") or "{}")
    if pattern != _plain(rule.properties.get("EventPattern")):
        yield Finding(
            check="rules",
            what=f"the rule {name} has another pattern than was deployed",
            mend=_DEPLOY,
        )
    yield from _targets(deployed, rule, name, answer.get("Targets", []))


def _targets(
    deployed: Deployed, rule: Resource, name: str, found: list[Mapping[str, Any]]
) -> Iterator[Finding]:
    by_id = {target["Id"]: target for target in found}
    for wanted in rule.properties.get("Targets", []):
        there = by_id.get(wanted["Id"])
        if there is None or not deployed.leads_to(wanted["Arn"], there.get("Arn")):
            yield Finding(
                check="rules",
                what=f"the rule {name} no longer leads to its agent's queue",
                mend=_DEPLOY,
            )
            continue
        letters = (there.get("DeadLetterConfig") or {}).get("Arn")
        if not deployed.leads_to(
            (wanted.get("DeadLetterConfig") or {}).get("Arn"), letters
        ):
            yield Finding(
                check="dead letters",
                what=f"what the rule {name} cannot deliver is kept nowhere",
                mend=_DEPLOY,
            )


def _schedule(deployed: Deployed, schedule: Resource) -> Iterator[Finding]:
    scheduler = deployed.client("scheduler")
    name = last(schedule.physical)
    group = last(deployed.name_of(schedule.properties.get("GroupName")) or "default")
    try:
        found = asked(lambda: scheduler.get_schedule(Name=name, GroupName=group))
    except Missing:
        yield Finding(
            check="schedules", what=f"the schedule {name} is gone", mend=_DEPLOY
        )
        return
    wanted = schedule.properties
    if found.get("State", "ENABLED") != wanted.get("State", "ENABLED"):
        yield Finding(
            check="schedules",
            what=f"the schedule {name} is {found['State']}",
            mend=f"enable the schedule {name} in group {group}, or {_DEPLOY}",
        )
    for key in ("ScheduleExpression", "ScheduleExpressionTimezone"):
        text = wanted.get(key)
        if isinstance(text, str) and found.get(key) != text:
            yield Finding(
                check="schedules",
                what=f"the schedule {name} is {found.get(key)!r}, deployed as {text!r}",
                mend=_DEPLOY,
            )
    target, aim = found.get("Target", {}), wanted["Target"]
    if not deployed.leads_to(aim["Arn"], target.get("Arn")):
        yield Finding(
            check="schedules",
            what=f"the schedule {name} calls {last(target.get('Arn', '?'))}",
            mend=_DEPLOY,
        )
    letters = (target.get("DeadLetterConfig") or {}).get("Arn")
    if not deployed.leads_to((aim.get("DeadLetterConfig") or {}).get("Arn"), letters):
        yield Finding(
            check="dead letters",
            what=f"what the schedule {name} cannot deliver is kept nowhere",
            mend=_DEPLOY,
        )


def _door(deployed: Deployed, api: Resource) -> Iterator[Finding]:
    client = deployed.client("apigatewayv2")
    try:
        answer = asked(lambda: client.get_routes(ApiId=api.physical))
    except Missing:
        yield Finding(check="door", what="the API is gone", mend=_DEPLOY)
        return
    there = {route["RouteKey"] for route in answer.get("Items", [])}
    for route in deployed.of("ApiGatewayV2::Route"):
        key = route.properties["RouteKey"]
        if key not in there:
            yield Finding(check="door", what=f"the route {key} is gone", mend=_DEPLOY)


def _plain(pattern: Any) -> Any:
    return json.loads(json.dumps(pattern))
