"""A morning: 500 dead letters of four agents are told in one readable message."""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

import pytest

from cli import letters
from cli.slack_page import as_html, as_text
from cli.target import Target
from lambdas.dlq_digest import blocks
from lambdas.dlq_digest.report import VENDOR_ISSUE, Report
from lambdas.shared import clock
from lambdas.shared.clock import milliseconds
from local.stack import LocalStack, wait_for
from tests import slack_limits
from tests.e2e.dead_letters.plant import Failure, order, plant

AGENTS = ("triage", "billing", "reports", "notify")
LETTERS = 500
HOLD = 0.95
_ABOUT_THE_AGENT = {"agent_bug", "bad_payload"}


@pytest.fixture(scope="module")
def failures(fixtures: Path) -> list[Failure]:
    """500 captured failures; every fifth cause befalls two agents."""
    text = (fixtures / "errors/errors.json").read_text(encoding="utf-8")
    entries = json.loads(text)
    draw = random.Random(8)  # noqa: S311  the same 500 every time
    draw.shuffle(entries)
    causes = sorted({entry["cause"] for entry in entries})
    return [
        _befallen(entry, causes.index(entry["cause"])) for entry in entries[:LETTERS]
    ]


def _befallen(entry: dict[str, str], cause: int) -> Failure:
    number = int(entry["id"].rpartition("-")[2])
    shift = number % 2 if cause % 5 == 0 else 0
    return Failure(
        agent=AGENTS[(cause + shift) % len(AGENTS)],
        exception_type=entry["exception_type"],
        message=entry["message"],
        traceback=entry["traceback"],
        cause=entry["cause"],
        category=entry["category"],
        downstream=entry["downstream"],
    )


def pairs(sizes: Iterable[int]) -> int:
    return sum(n * (n - 1) // 2 for n in sizes)


def agreement(report: Report, planted: dict[str, Failure]) -> tuple[float, float]:
    """Precision and recall over pairs of letters: are the same two together?"""
    together: Counter[tuple[str, str, str]] = Counter()
    groups: Counter[str] = Counter()
    labels: Counter[tuple[str, str]] = Counter()
    for group in report.groups:
        for letter in group.letters:
            failure = planted.get(letter.event_id or "")
            if failure is None:
                continue
            name = f"{group.agent}/{group.fingerprint}"
            together[name, failure.agent, failure.cause] += 1
            groups[name] += 1
            labels[failure.agent, failure.cause] += 1
    both = pairs(together.values())
    return both / pairs(groups.values()), both / pairs(labels.values())


def test_morning_of_500_dead_letters(
    shop: LocalStack, target: Target, failures: list[Failure], tmp_path: Path
) -> None:
    killed, hung = order(shop, "opened", "die"), order(shop, "opened", "hang")
    planted = plant(target, shop, failures)
    assert wait_for(lambda: _is_left(shop, killed, hung, planted))

    told = _tell(shop)
    again = _tell(shop)
    report = letters.report(target)

    (message,) = [each["body"] for each in shop.effects("hooks.slack.com")]
    precision, recall = agreement(report, planted)
    kinds = sum(
        planted[each.event_id].category == group.blame
        for group in report.groups
        for each in group.letters
        if each.event_id in planted
    )
    print(f"\n{len(planted)} planted letters, {len(report.groups)} groups")
    print(f"precision {precision:.4f}, recall {recall:.4f}")
    print(f"categories right: {kinds} of {len(planted)}")
    for line, _ in as_text(message):
        print(f"  | {line}")
    (tmp_path / "digest.html").write_text(as_html(message), encoding="utf-8")
    print(f"drawn: {tmp_path / 'digest.html'}")

    assert (told, again) == ("told", "told before")
    assert report.read == report.total == LETTERS + 2
    assert precision >= HOLD
    assert recall >= HOLD
    assert kinds >= HOLD * len(planted)
    assert {v.name for v in report.vendors()} == _vendors(failures)
    assert "look at the vendor, not at the agent" in json.dumps(message)
    assert slack_limits.faults(message) == []
    assert slack_limits.faults(blocks.message(report, letters.links(target))) == []

    _check_reasons(shop, killed, hung)


def _check_reasons(shop: LocalStack, killed: str, hung: str) -> None:
    reasons = {
        event_id: shop.rows(event_id)["run#triage"]["reason"]
        for event_id in (killed, hung)
    }
    print(f"killed: {reasons[killed]['message']}")
    print(f"hung:   {reasons[hung]['message']}")
    assert reasons[killed]["category"] == "crash"
    assert "was killed" in reasons[killed]["message"]
    assert reasons[hung]["category"] == "timeout"
    assert "time limit (2 s)" in reasons[hung]["message"]


def _tell(shop: LocalStack) -> str:
    answer = shop.client("lambda").invoke(FunctionName=shop.functions["dlq_digest"])
    body = json.loads(answer["Payload"].read())
    assert "FunctionError" not in answer, body
    return str(body["digest"])


def _is_left(
    shop: LocalStack, killed: str, hung: str, planted: dict[str, Failure]
) -> bool:
    """Both died three times, and their last lease is over."""
    mine = sum(failure.agent == "triage" for failure in planted.values())
    if shop.dead_letters("triage") < mine + 2:
        return False
    rows = [shop.rows(each)["run#triage"] for each in (killed, hung)]
    now_ms = milliseconds(clock.now())
    return all(row["due_at"] < now_ms for row in rows)


def _vendors(failures: list[Failure]) -> set[str]:
    """The other sides that five letters or more name, by the labels."""
    counted = Counter(
        failure.downstream
        for failure in failures
        if failure.downstream and failure.category not in _ABOUT_THE_AGENT
    )
    return {name for name, n in counted.items() if n >= VENDOR_ISSUE}
