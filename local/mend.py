"""Sets by API what the engine's CloudFormation reads over and AWS would set."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from local.deploy import Deployed, Target

_SCHEDULE_EXTRAS = (
    "ScheduleExpressionTimezone",
    "ActionAfterCompletion",
    "StartDate",
    "EndDate",
)


def mend(deployed: Deployed, target: Target) -> None:
    """Set what was dropped: table TTL and point-in-time recovery, schedule zones.

    And the alarm over alarms, over those that the engine has.
    """
    for logical, properties in deployed.of_type("AWS::DynamoDB::Table"):
        _table(deployed.ids[logical], properties, target)
    for logical, properties in deployed.of_type("AWS::Scheduler::Schedule"):
        _schedule(deployed, deployed.ids[logical], properties, target)
    for logical, properties in deployed.of_type("AWS::CloudWatch::CompositeAlarm"):
        _page(deployed, logical, properties, target)


def _page(
    deployed: Deployed, logical: str, properties: dict[str, Any], target: Target
) -> None:
    """Make the alarm over alarms; one over an expression the engine has not."""
    parts = properties["AlarmRule"]["Fn::Join"][1]
    inside = [part["Fn::GetAtt"][0] for part in parts if isinstance(part, dict)]
    there = [deployed.ids[name] for name in inside if name in deployed.ids]
    target.client("cloudwatch").put_composite_alarm(
        AlarmName=f"{deployed.name}-{logical}",
        AlarmDescription=properties["AlarmDescription"],
        AlarmRule=" OR ".join(f'ALARM("{name}")' for name in there),
        AlarmActions=[deployed.ids[each["Ref"]] for each in properties["AlarmActions"]],
        OKActions=[deployed.ids[each["Ref"]] for each in properties["OKActions"]],
    )


def _table(name: str, properties: dict[str, Any], target: Target) -> None:
    dynamodb = target.client("dynamodb")
    if lives := properties.get("TimeToLiveSpecification"):
        dynamodb.update_time_to_live(TableName=name, TimeToLiveSpecification=lives)
    if recovery := properties.get("PointInTimeRecoverySpecification"):
        dynamodb.update_continuous_backups(
            TableName=name, PointInTimeRecoverySpecification=recovery
        )


def _schedule(
    deployed: Deployed, physical: str, properties: dict[str, Any], target: Target
) -> None:
    extras = {k: properties[k] for k in _SCHEDULE_EXTRAS if k in properties}
    if not extras:
        return
    scheduler = target.client("scheduler")
    group, _, name = physical.rpartition("/")
    named = properties.get("GroupName")
    if isinstance(named, dict):
        # Its physical id is its name alone; its group is another resource.
        group = deployed.ids[named["Ref"]].rpartition("/")[2]
    found = scheduler.get_schedule(Name=name, **({"GroupName": group} if group else {}))
    kept = ("ScheduleExpression", "FlexibleTimeWindow", "Target", "State", "GroupName")
    scheduler.update_schedule(
        Name=name, **{k: found[k] for k in kept if k in found}, **extras
    )
