"""Every alarm and every widget watches a metric that a real run emits."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from cli.signers import compose
from lambdas.shared import clock
from lambdas.shared.observe import NAMESPACE
from local import synth
from local.demo import post, scenes
from local.demo.telling import Telling
from local.home import ROOT
from local.stack import LocalStack, wait_for
from tests.e2e.seen_and_safe.conftest import SLACK, Logs
from tests.infra.cloudwatch.alarms import Metric
from tests.infra.cloudwatch.joined import unheard_of, watched
from tests.infra.template import Template

PAGE = ROOT / "docs/reference/metrics.md"


@pytest.fixture(scope="session")
def template(fleet: Path) -> Template:
    """What the running stack was deployed from."""
    assembly = synth.assembly(fleet)
    body = (assembly / "Bellhop.template.json").read_text(encoding="utf-8")
    return Template(json.loads(body))


@pytest.fixture(scope="session")
def emitted(seen: LocalStack, logs: Logs) -> set[Metric]:
    """The metrics of the demo's story, and of what it leaves out."""
    play_the_story(seen)
    send_what_is_skipped_or_unheard(seen)
    send_what_is_refused_though_true(seen)
    tell_the_digest(seen)
    let_hours_pass(seen)
    return logs.metrics()


def play_the_story(stack: LocalStack) -> None:
    telling = Telling()
    scenes.each_sender(stack, telling)
    scenes.five_copies(stack, telling)
    scenes.forgeries(stack, telling)
    scenes.redriven(stack, telling, scenes.poison(stack, telling))
    print("did not hold, on a busy machine:", telling.failures)


def send_what_is_skipped_or_unheard(stack: LocalStack) -> None:
    def comment() -> str:
        signed = post.signed(stack, "github", "issue_comment.created")
        return str(post.send(stack, "github", signed).event_id)

    first, second = comment(), comment()
    unheard = post.signed(stack, "github", "pull_request.opened")
    post.send(stack, "github", unheard)

    assert wait_for(lambda: _states(stack, first, second, "limited") == ENDS)
    assert wait_for(lambda: _states(stack, first, second, "patient") == {"SUCCEEDED"})


def send_what_is_refused_though_true(stack: LocalStack) -> None:
    def refused(source: str, without: str = "", method: str = "POST") -> str | None:
        signed = compose(
            "github",
            "issues.opened",
            secret=stack.secret(source),
            at=clock.now(),
            url=stack.webhook_url(source),
        )
        kept = {k: v for k, v in signed.headers.items() if k.lower() != without}
        changed = replace(signed, headers=kept, method=method)
        return post.send(stack, source, changed).error

    assert refused("narrow") == "body_too_large"
    assert refused("walled") == "not_allowed_ip"
    assert refused("github", without="x-github-delivery") == "no_delivery_id"
    assert refused("github", without="x-github-event") == "malformed"
    assert refused("github", method="PUT") == "method_not_allowed"


ENDS = {"SUCCEEDED", "SKIPPED"}


def _states(stack: LocalStack, first: str, second: str, agent: str) -> set[str]:
    rows = (stack.rows(each).get(f"run#{agent}", {}) for each in (first, second))
    return {row.get("state", "") for row in rows}


def tell_the_digest(stack: LocalStack) -> None:
    """Refused in any form at first."""
    # When a clock was put on by a day, the digest's own schedule may have come too.
    today = stack.client("dynamodb")
    key = {"pk": {"S": "digest"}, "sk": {"S": "state"}}
    today.delete_item(TableName=stack.ledger_table, Key=key)
    slack = SLACK.removeprefix("https://")
    stack.behave(slack, status=400, error="invalid_blocks")
    assert "FunctionError" in invoke(stack, "dlq_digest")
    stack.behave(slack, status=200)
    assert "FunctionError" not in invoke(stack, "dlq_digest")


def let_hours_pass(stack: LocalStack) -> None:
    """Ticks that are too late, skipped, in line, failed, missed and late."""
    # Later than any test has put the clock, which the watcher would have seen; and
    # not much later, or the way would be full of missed fires.
    day = datetime.now(UTC) + timedelta(days=2)
    hour = day.replace(minute=0, second=0, microsecond=0)
    first, second, third = (hour + timedelta(hours=n) for n in (1, 2, 3))
    try:
        stand(stack, first - timedelta(minutes=1))
        invoke(stack, "watcher")
        stand(stack, first + timedelta(minutes=5))
        tick(stack, "strict", hour - timedelta(hours=1))
        for name in ("slow", "waiting", "failing"):
            tick(stack, name, first)
        dead = f"cron:failing:{text(first)}"
        assert wait_for(lambda: "run#hopeless" in stack.rows(dead))
        # Put off before the clock goes on: one that had not begun by then is given up.
        slow, waiting = (f"cron:{name}:{text(first)}" for name in ("slow", "waiting"))
        assert wait_for(lambda: _states(stack, slow, waiting, "sleeper") == {"FAILED"})
        stand(stack, second + timedelta(minutes=5))
        for name in ("slow", "waiting"):
            tick(stack, name, second)
        stand(stack, third + timedelta(minutes=10))
        invoke(stack, "watcher")
        tick(stack, "hourly", third)
        invoke(stack, "watcher")
    finally:
        stack.set_clock()


def text(instant: datetime) -> str:
    return f"{instant:%Y-%m-%dT%H:%M:%SZ}"


def stand(stack: LocalStack, instant: datetime) -> None:
    stack.set_clock(text(instant))


def tick(stack: LocalStack, schedule: str, planned: datetime) -> None:
    told = {"schedule": schedule, "planned": text(planned), "attempt": "1"}
    assert "FunctionError" not in invoke(stack, "cron", told)


def invoke(stack: LocalStack, function: str, event: Any = None) -> dict[str, Any]:
    answer: dict[str, Any] = stack.client("lambda").invoke(
        FunctionName=stack.functions[function], Payload=json.dumps(event or {})
    )
    return answer


def test_everything_that_is_watched_was_emitted(
    template: Template, emitted: set[Metric]
) -> None:
    watches = list(watched(template))
    print(f"{len(watches)} watches of ours, {len(emitted)} metrics emitted")

    assert len(watches) > 50
    assert unheard_of(template, emitted) == []


def test_a_misspelling_in_an_alarm_or_a_widget_is_found(
    template: Template, emitted: set[Metric]
) -> None:
    whole = json.dumps(template.body)
    for right, wrong in (
        ('"MetricName": "RelayAgeSeconds"', '"MetricName": "RelayAgeSecond"'),
        ('"Value": "bad_signature"', '"Value": "bad-signature"'),
        ("{Bellhop,Source,Reason}", "{Bellhop,Source,Reasons}"),
        (r"\"Bellhop\",\"RunsDead\"", r"\"Bellhop\",\"RunsDied\""),
        (r"\"Agent\",\"counter\"", r"\"Agents\",\"counter\""),
    ):
        assert right in whole, right
        broken = Template(json.loads(whole.replace(right, wrong)))
        assert unheard_of(broken, emitted), wrong


def rows() -> dict[tuple[str, tuple[str, ...]], str]:
    """The reference: name and dimensions of each metric, and its unit."""
    found = {}
    for line in PAGE.read_text(encoding="utf-8").splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        name = re.fullmatch(r"`(\w+)`", cells[0])
        if name:
            for form in cells[2].split(";"):
                names = tuple(sorted(re.findall(r"\w+", form)))
                found[name[1], () if names == ("none",) else names] = cells[1]
    return found


# Counted from the access log, which the engine does not write.
NOT_IN_THIS_RUN: set[tuple[str, tuple[str, ...]]] = {("GatewayRefusedBody", ())}
# The planner's: this fleet has no calendars; tests/unit/planner holds them.
NOT_IN_THIS_RUN |= {
    (name, names)
    for name in (
        *("CalendarRead", "CalendarRefused", "CalendarHeld"),
        *("TasksBegun", "TasksMissed"),
    )
    for names in ((), ("Calendar",))
}
# The poller's: this fleet has no feeds; tests/flows/poller holds them.
NOT_IN_THIS_RUN |= {
    (name, names) for name in ("FeedRead", "FeedRefused") for names in ((), ("Source",))
}
# Of workers that poll, of which this fleet has none: see tests/e2e/long.
NOT_IN_THIS_RUN |= {("RunsKilled", ("Agent", "Why")), ("RunsKilled", ("Why",))} | {
    (name, names)
    for name in ("HeartbeatsFailed", "WorkersStuck", "WorkersDegraded")
    for names in ((), ("Agent",))
}


def test_the_reference_lists_what_is_emitted_and_nothing_else(
    emitted: set[Metric],
) -> None:
    seen: set[tuple[str, tuple[str, ...]]] = {
        m.signature[1:] for m in emitted if m.namespace == NAMESPACE
    }

    assert set(rows()) - NOT_IN_THIS_RUN == seen - NOT_IN_THIS_RUN


def test_dimensions_are_bounded_by_the_fleet_and_our_own_words(
    emitted: set[Metric],
) -> None:
    """A stranger who invents sources must not make a metric of each."""
    values: dict[str, set[str]] = {}
    for metric in emitted:
        for name, value in metric.dimensions:
            values.setdefault(name, set()).add(value)

    assert set(values) == {"Agent", "Reason", "Schedule", "Source", "Which"}
    assert values["Source"] <= {
        *("github", "slack", "stripe", "linear", "roastery", "unknown"),
        *("narrow", "walled"),
    }
    assert values["Which"] <= {"current", "previous"}
    assert "gopher" not in values["Source"]
