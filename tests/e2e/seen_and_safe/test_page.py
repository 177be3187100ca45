"""The alarm that pages somebody stands over the others on the engine too."""

from __future__ import annotations

from typing import Any

from local.stack import LocalStack


def composite(stack: LocalStack) -> dict[str, Any]:
    found = stack.client("cloudwatch").describe_alarms(AlarmTypes=["CompositeAlarm"])
    (alarm,) = found["CompositeAlarms"]
    return dict(alarm)


def test_alarm_inside_rings_the_one_that_pages_and_lets_it_end(
    seen: LocalStack,
) -> None:
    cloudwatch = seen.client("cloudwatch")
    alarms = cloudwatch.describe_alarms(AlarmTypes=["MetricAlarm"])["MetricAlarms"]
    (fault,) = (
        alarm["AlarmName"]
        for alarm in alarms
        if alarm["AlarmDescription"].endswith("docs/runbooks/receiver-5xx.md")
    )

    states = []
    for state in ("ALARM", "OK"):
        cloudwatch.set_alarm_state(
            AlarmName=fault, StateValue=state, StateReason="the test says so"
        )
        states.append(composite(seen)["StateValue"])

    assert states == ["ALARM", "OK"]
    (topic,) = composite(seen)["AlarmActions"]
    assert "Pages" in topic
    assert f'ALARM("{fault}")' in composite(seen)["AlarmRule"]
