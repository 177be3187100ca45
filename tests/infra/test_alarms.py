"""Alarms ring by metric data alone, end again, and tell somebody what to do."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from tests.infra.cloudwatch.alarms import Alarm, Metric, read, runbook_of, telling
from tests.infra.cloudwatch.dashboards import body_of, drawn
from tests.infra.cloudwatch.documented import DOCUMENTED
from tests.infra.cloudwatch.states import State
from tests.infra.template import Template, referred

ROOT = Path(__file__).resolve().parents[2]
RUNBOOKS = ROOT / "docs/runbooks"
PAGES = sorted({page.stem for page in RUNBOOKS.glob("*.md")} - {"README"})

Data = dict[Metric, list[float]]

# What the metrics of an alarm hold in a bad period, by its runbook and the metric's
# name. Every metric of the alarm that is not named is silent.
BAD: dict[str, dict[str, list[float]]] = {
    "receiver-5xx": {"5xx": [1]},
    "receiver-p99": {"Latency": [40.0] * 90 + [2600.0] * 10},
    "gateway-refused-body": {"GatewayRefusedBody": [1]},
    "refusals-401": {"EventsRefused": [10], "EventsAccepted": [30]},
    "refusals-400": {"EventsRefused": [1], "EventsAccepted": [900]},
    "unheard": {"EventsUnheard": [11], "EventsAccepted": [20]},
    "queue-standing": {"ApproximateAgeOfOldestMessage": [60.0, 172_801.0]},
    "relay-age": {"RelayAgeSeconds": [3, 130]},
    "relay-behind": {"IteratorAge": [400_000]},
    "undelivered": {"ApproximateNumberOfMessagesVisible": [1]},
    "rule-lost": {"InvocationsFailedToBeSentToDlq": [1]},
    "schedule-lost": {"InvocationDroppedCount": [1]},
    "async-lost": {"DestinationDeliveryFailures": [1]},
    "function-errors": {"Errors": [1]},
    "function-throttles": {"Throttles": [1]},
    "dead-letters": {"ApproximateNumberOfMessagesVisible": [10]},
    "worker-at-cap": {
        "ConcurrentExecutions": [10],
        "ApproximateNumberOfMessagesNotVisible": [40],
    },
    "worker-crashes": {"Errors": [1, 1, 1]},
    "end-to-end-p95": {"AcceptedToDoneSeconds": [3000.0]},
    "skipped": {"RunsSkipped": [1]},
    "digest-failed": {"Errors": [1]},
    "missed-fires": {"MissedFires": [1]},
    "late-fires": {"LateFires": [1]},
    "overruns": {"Overruns": [1]},
    "failed-ticks": {"FailedTicks": [1]},
    "calendar-held": {"CalendarHeld": [1]},
    "tasks-missed": {"TasksMissed": [1]},
    "worker-absent": {"ApproximateNumberOfMessagesVisible": [1]},
    "worker-stuck": {"WorkersStuck": [1]},
    "heartbeat-failing": {"HeartbeatsFailed": [1, 1, 1]},
    "runs-killed": {"RunsKilled": [1, 1, 1]},
    "work-missing": {"WorkersDegraded": [1]},
}
# In a good period most are silent; these are not.
GOOD: dict[str, dict[str, list[float]]] = {
    "receiver-p99": {"Latency": [40.0] * 99 + [900.0]},
    "refusals-401": {"EventsRefused": [9], "EventsAccepted": [1]},
    "unheard": {"EventsUnheard": [11], "EventsAccepted": [90]},
    "relay-age": {"RelayAgeSeconds": [0.4]},
    "relay-behind": {"IteratorAge": [200]},
    "undelivered": {"ApproximateNumberOfMessagesVisible": [0]},
    "queue-standing": {"ApproximateAgeOfOldestMessage": [172_800.0]},
    "dead-letters": {"ApproximateNumberOfMessagesVisible": [9]},
    "worker-at-cap": {"ConcurrentExecutions": [1]},
    "end-to-end-p95": {"AcceptedToDoneSeconds": [12.0]},
    "function-errors": {"Errors": [0]},
    "watcher-heartbeat": {"WatcherHeartbeat": [1]},
    "calendar-stale": {"CalendarRead": [1]},
    "not-called": {"Invocations": [1]},
    "worker-absent": {
        "ApproximateNumberOfMessagesVisible": [7],
        "CPUUtilization": [31.0],
    },
    "heartbeat-failing": {"HeartbeatsFailed": [1, 1]},
    "runs-killed": {"RunsKilled": [1]},
    "feed-stale": {"FeedRead": [1]},
}


# Whose silence is the alarm.
SILENCE = {"watcher-heartbeat", "calendar-stale", "feed-stale", "not-called"}


def alarms(template: Template) -> list[Alarm]:
    return [read(each) for each in telling(template)]


def samples(alarm: Alarm, table: dict[str, list[float]]) -> Data:
    """Give the first metric of each name its samples; of its like, none has any."""
    found: Data = {}
    for watch in alarm.watches.values():
        values = table.get(watch.metric.name)
        if values is not None and not any(m.name == watch.metric.name for m in found):
            found[watch.metric] = values
    return found


def bad(alarm: Alarm, minute: int) -> Data:
    """Return the data of a bad period; a queue that grows is longer in each."""
    if alarm.runbook == "queue-growing":
        metric = next(iter(alarm.watches.values())).metric
        return {metric: [60.0 + 5 * minute]}
    return samples(alarm, BAD.get(alarm.runbook, {}))


def good(alarm: Alarm, minute: int) -> Data:
    if alarm.runbook == "queue-growing":
        metric = next(iter(alarm.watches.values())).metric
        return {metric: [500.0]}  # long, but no longer than before
    return samples(alarm, GOOD.get(alarm.runbook, {}))


def periods_until(alarm: Alarm, state: State, data: Callable[[int], Data]) -> int:
    """Let periods pass until ``state``; fails when it does not come soon."""
    for number in range(1, alarm.how.range + 2):
        if alarm.period(data(number)) is state:
            return number
    raise AssertionError(f"{alarm.id} is {alarm.state} for ever")


def test_every_alarm_rings_and_ends_by_metric_data_alone(template: Template) -> None:
    for alarm in alarms(template):
        periods_until(alarm, State.OK, partial(good, alarm))
        rang = periods_until(alarm, State.ALARM, partial(bad, alarm))
        periods_until(alarm, State.OK, partial(good, alarm))

        assert rang >= alarm.how.least, f"{alarm.id} rang too early"


def test_no_alarm_rings_while_nothing_happens(template: Template) -> None:
    """Silence is rest, but for the heartbeats, whose silence is the alarm."""
    for alarm in alarms(template):
        states = {alarm.period({}) for _ in range(30)}

        silent = alarm.runbook in SILENCE
        assert (State.ALARM in states) is silent, alarm.id


@pytest.mark.parametrize(
    ("runbook", "data"),
    [
        # nine forgeries a period are a stranger at the door
        ("refusals-401", {"EventsRefused": [9]}),
        # ten among a hundred true ones are, too
        ("refusals-401", {"EventsRefused": [10], "EventsAccepted": [90]}),
        ("unheard", {"EventsUnheard": [11], "EventsAccepted": [60]}),
        ("dead-letters", {"ApproximateNumberOfMessagesVisible": [9]}),
    ],
)
def test_what_is_everyday_does_not_ring(
    large: Template, runbook: str, data: dict[str, list[float]]
) -> None:
    for alarm in alarms(large):
        if alarm.runbook == runbook:
            states = {alarm.period(samples(alarm, data)) for _ in range(10)}
            assert State.ALARM not in states


def of_source(alarm: Alarm, source: str, **table: list[float]) -> Data:
    """Return what one source's metrics of the alarm hold; no forgery is stale."""
    return {
        watch.metric: values
        for name, values in table.items()
        for watch in alarm.watches.values()
        if watch.metric.name == name
        and ("Source", source) in watch.metric.dimensions
        and ("Reason", "stale") not in watch.metric.dimensions
    }


def sources_of(alarm: Alarm) -> list[str]:
    dimensions = [d for w in alarm.watches.values() for d in w.metric.dimensions]
    return sorted({value for name, value in dimensions if name == "Source"})


def test_source_that_is_refused_whole_is_heard_beside_a_busy_one(
    large: Template,
) -> None:
    """Its share of the fleet's requests may be a hundredth."""
    judged = [alarm for alarm in alarms(large) if alarm.runbook == "refusals-401"]
    assert any(len(sources_of(alarm)) == 2 for alarm in judged)
    for alarm in judged:
        *others, quiet = sources_of(alarm)
        data = of_source(alarm, quiet, EventsRefused=[15])
        for busy in others:
            data |= of_source(alarm, busy, EventsAccepted=[1500])
        assert periods_until(alarm, State.ALARM, partial(always, data)) == 2


def always(data: Data, _: int) -> Data:
    return data


def test_every_source_is_judged_by_one_alarm(large: Template) -> None:
    judged = [
        source
        for alarm in alarms(large)
        if alarm.runbook == "refusals-401"
        for source in sources_of(alarm)
    ]
    assert len(judged) == len(set(judged)) > 1


@pytest.mark.parametrize("reason", ["malformed", "not_allowed_ip"])
def test_stranger_with_nine_broken_requests_wakes_nobody(
    template: Template, reason: str
) -> None:
    (alarm,) = (a for a in alarms(template) if a.runbook == "refusals-400")
    (metric,) = (
        w.metric
        for w in alarm.watches.values()
        if ("Reason", reason) in w.metric.dimensions
    )
    assert {alarm.period({metric: [9]}) for _ in range(5)} == {State.OK}
    assert alarm.period({metric: [10]}) is State.ALARM


def test_any_agent_of_a_large_fleet_rings_the_alarm_of_its_portion(
    large: Template,
) -> None:
    """One alarm takes ten metrics: the last agent must be in one as well."""
    of_agents = ("dead-letters", "worker-at-cap", "queue-growing", "queue-standing")
    for runbook in (*of_agents, "rule-lost"):
        watched = [
            watch.metric
            for alarm in alarms(large)
            if alarm.runbook == runbook
            for watch in alarm.watches.values()
        ]
        assert len(watched) == len(set(watched))
        wanted = large.all("Events::Rule" if runbook == "rule-lost" else "SQS::Queue")
        if runbook == "rule-lost":
            assert len(watched) == len(wanted)
        else:
            assert len(watched) == len(large.functions("worker"))


def test_caps_belong_to_their_own_functions(large: Template) -> None:
    caps = {
        mapping.of("FunctionName")["Ref"]: mapping.of(
            "ScalingConfig.MaximumConcurrency"
        )
        for mapping in large.mappings(streams=False)
    }
    for alarm in alarms(large):
        if alarm.runbook == "worker-at-cap":
            for name, watch in alarm.watches.items():
                ((_, function),) = watch.metric.dimensions
                cap = caps[function.strip("${}")]
                assert f"100*FILL({name},0)/{cap}" in str(alarm.expression)


def test_every_alarm_tells_somebody_when_it_rings_and_when_it_is_over(
    template: Template,
) -> None:
    for alarm in telling(template):
        (rings,), (ends,) = alarm.of("AlarmActions"), alarm.of("OKActions")
        assert rings == ends
        assert template[referred(rings)].type == "AWS::SNS::Topic"


def test_every_alarm_has_its_page_and_every_page_its_alarm(
    templates: dict[str, Template],
) -> None:
    named = {
        runbook_of(alarm)
        for template in templates.values()
        for alarm in (*telling(template), *template.all("CloudWatch::CompositeAlarm"))
    }
    assert sorted(named) == PAGES


@pytest.mark.parametrize("name", PAGES)
def test_a_page_says_what_it_means_what_to_run_and_when_it_is_over(name: str) -> None:
    text = (RUNBOOKS / f"{name}.md").read_text(encoding="utf-8")

    assert name in text.splitlines()[0]
    assert re.search(r"```\n(\.venv/bin/bellhop|aws|fields) |`(bellhop|aws) ", text), (
        "no command"
    )
    assert re.search(r"It is over when|Quiet it", text), "no end"
    # Its row in the table of contents.
    assert f"[{name}]({name}.md)" in (RUNBOOKS / "README.md").read_text("utf-8")


def test_the_page_alarm_holds_what_cannot_wait_and_not_what_can(
    templates: dict[str, Template],
) -> None:
    template = templates["timed"]
    composite = template.only("CloudWatch::CompositeAlarm")
    rule = json.dumps(composite.of("AlarmRule"))
    inside = {a.runbook for a in alarms(template) if f'"{a.id}"' in rule}
    outside = {a.runbook for a in alarms(template) if f'"{a.id}"' not in rule}

    assert {"receiver-5xx", "relay-age", "undelivered", "missed-fires"} <= inside
    assert {"refusals-401", "unheard", "overruns", "skipped"} <= outside
    # One composite may stand for a hundred alarms, its rule is 10,240 characters.
    assert len(inside) <= 100
    (topic,) = composite.of("AlarmActions")
    others = [a.of("AlarmActions") for a in template.all("CloudWatch::Alarm")]
    assert [topic] not in others


def test_rule_of_the_page_alarm_fits_for_a_large_fleet(large: Template) -> None:
    _, parts = large.only("CloudWatch::CompositeAlarm").of("AlarmRule")["Fn::Join"]
    # An ARN of ours: region, account and a name of at most 255 characters; those
    # that CloudFormation makes end after 64 and a suffix.
    length = sum(len(part) if isinstance(part, str) else 150 for part in parts)

    assert length <= 10_240


def test_topics_hear_our_alarms_and_nobody_in_plain_text(template: Template) -> None:
    key = template.only("KMS::Key").id
    policies = {
        referred(topic): policy.of("PolicyDocument.Statement")
        for policy in template.all("SNS::TopicPolicy")
        for topic in policy.of("Topics")
    }
    for topic in template.all("SNS::Topic"):
        assert referred(topic.of("KmsMasterKeyId")) == key
        allowed = [s for s in policies[topic.id] if s["Effect"] == "Allow"]
        denied = [s for s in policies[topic.id] if s["Effect"] == "Deny"]
        (statement,) = allowed
        assert statement["Principal"] == {"Service": "cloudwatch.amazonaws.com"}
        assert set(statement["Condition"]) == {"StringEquals", "ArnLike"}
        assert denied[0]["Condition"] == {"Bool": {"aws:SecureTransport": "false"}}


def test_metrics_of_aws_are_those_that_aws_documents(template: Template) -> None:
    watched = {w.metric for alarm in alarms(template) for w in alarm.watches.values()}
    shown = set(drawn(template))
    of_aws = {m.signature for m in watched | shown if m.namespace != "Bellhop"}

    assert len(of_aws) > 10
    assert of_aws - DOCUMENTED == set()


def test_the_dashboard_begins_with_what_is_wrong_and_fits_the_page(
    template: Template,
) -> None:
    widgets = body_of(template)["widgets"]

    assert [widget["type"] for widget in widgets[:2]] == ["text", "alarm"]
    assert len(widgets[1]["properties"]["alarms"]) == len(alarms(template))
    assert len(widgets) <= 500  # CloudWatch's limit, as are the next two
    for widget in widgets:
        assert len(widget["properties"].get("metrics", [])) <= 500
        assert widget["x"] + widget["width"] <= 24


def test_every_agent_and_schedule_has_its_lines_on_the_dashboard(
    templates: dict[str, Template],
) -> None:
    seen = {
        value
        for template in (templates["large"], templates["timed"])
        for metric in drawn(template)
        for name, value in metric.dimensions
        if name in ("Agent", "Schedule")
    }

    assert {"wide", "agent-with-quite-a-long-name-0", "often", "cron"} <= seen
