"""Alarms: there, and able to tell somebody."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from cli.doctor.deployed import Deployed, Finding

_DEPLOY = "deploy again: cdk deploy"
# CloudWatch takes 100 names a call.
_AT_ONCE = 100


def look(deployed: Deployed) -> Iterator[Finding]:
    """Look for alarms that are gone or silenced."""
    wanted = {alarm.physical: alarm for alarm in deployed.of("CloudWatch::Alarm")}
    client = deployed.client("cloudwatch")
    names = sorted(filter(None, wanted))
    there: dict[str, Any] = {}
    for start in range(0, len(names), _AT_ONCE):
        part = names[start : start + _AT_ONCE]
        answer = client.describe_alarms(AlarmNames=part, AlarmTypes=["MetricAlarm"])
        there |= {each["AlarmName"]: each for each in answer.get("MetricAlarms", [])}
    for name in names:
        found = there.get(name)
        if found is None:
            yield Finding(
                check="alarms", what=f"the alarm {name} is gone", mend=_DEPLOY
            )
            continue
        is_meant = wanted[name].properties.get("ActionsEnabled", True)
        if is_meant and not found.get("ActionsEnabled", True):
            yield Finding(
                check="alarms",
                what=f"the alarm {name} tells nobody: its actions are off",
                mend=f"aws cloudwatch enable-alarm-actions --alarm-names {name}",
            )
        if wanted[name].properties.get("AlarmActions") and not found.get(
            "AlarmActions"
        ):
            yield Finding(
                check="alarms", what=f"the alarm {name} has no actions", mend=_DEPLOY
            )
