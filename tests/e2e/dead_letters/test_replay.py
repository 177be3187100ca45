"""A group is replayed beside live traffic and a second operator, and interrupted."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace

from cli import letters
from cli.target import Target
from lambdas.shared.story import State
from local.demo.telling import is_done, state
from local.home import Home
from local.redrive import redrive
from local.stack import LocalStack, wait_for
from tests.e2e.dead_letters import operator
from tests.e2e.dead_letters.plant import Failure, order, plant

LETTERS = 60
LIVE = 10
KILLED_AFTER = 20
STOPPED = 60
CONSOLE = 30
AGENT = "notify"
DOWN = Failure(
    agent=AGENT,
    exception_type="httpx.ConnectError",
    message="[Errno 111] Connection refused: https://till.example/ring",
    traceback="",
    cause="till_down",
    category="downstream_unavailable",
    downstream="till.example",
)


def test_group_is_replayed_once_whoever_else_replays_and_whatever_dies(
    shop: LocalStack, home: Home, target: Target
) -> None:
    planted = plant(target, shop, [DOWN] * LETTERS)
    (group,) = {
        each.fingerprint
        for each in letters.report(target).groups
        if any(letter.event_id in planted for letter in each.letters)
    }
    words = ("replay", "--agent", AGENT, "--group", group)

    _, counted = operator.run(home, *words, "--dry-run")
    assert counted["would_send"] == LETTERS
    assert shop.dead_letters(AGENT) >= LETTERS

    with operator.start(home, *words, "--rate", "5") as first:
        live = [order(shop, "labeled", "ok") for _ in range(LIVE)]
        wait_for(lambda: _sent(target, planted) >= KILLED_AFTER)
        second = operator.start(home, *words, "--rate", "10")
        first.kill()
    at_death = _sent(target, planted)
    code, by_second = operator.ended(second)
    assert KILLED_AFTER <= at_death < LETTERS, first.returncode
    job = _job(target, planted, other_than=by_second["job"])
    resumed_code, by_first = operator.run(home, "replay", "--resume", job)

    everybody = [*planted, *live]
    assert wait_for(lambda: all(is_done(shop, each, AGENT) for each in everybody)), (
        Counter(state(shop, each, AGENT) for each in everybody)
    )
    effects = Counter(each["body"]["event"] for each in shop.effects("till.example"))
    counts = {each["count"] for each in shop.effects("till.example")}
    print(f"\n{LETTERS} dead letters, {LIVE} live orders, two operators")
    print(f"first:  killed after {at_death} were sent, resumed: {by_first}")
    print(f"second: {by_second}")
    mine = [effects[each] for each in everybody]
    print(f"effects: {sum(mine)} of {len(mine)} events, each {sorted(set(mine))}")

    assert (code, resumed_code) == (0, 0)
    assert mine == [1] * (LETTERS + LIVE)
    assert counts == {1}
    assert wait_for(lambda: _left(target, planted) == 0)


def _sent(target: Target, planted: dict[str, Failure], agent: str = AGENT) -> int:
    rows = (target.table.get(each, f"run#{agent}") for each in planted)
    return sum(row is not None and "replayed_at" in row for row in rows)


def _job(target: Target, planted: dict[str, Failure], other_than: str) -> str:
    rows = [target.table.get(each, f"run#{AGENT}") or {} for each in planted]
    jobs = {row["replayed_by"] for row in rows if "replayed_by" in row}
    (job,) = jobs - {other_than}
    return str(job)


def _left(target: Target, planted: dict[str, Failure]) -> int:
    rows = (target.table.get(each, f"run#{AGENT}") or {} for each in planted)
    return sum(row["state"] == State.DEAD for row in rows)


def test_console_redrive_of_the_whole_queue_beside_a_replay_does_no_harm(
    shop: LocalStack, home: Home, target: Target
) -> None:
    agent = "billing"
    planted = plant(target, shop, [replace(DOWN, agent=agent)] * CONSOLE)

    with operator.start(home, "replay", *planted, "--rate", "20") as replaying:
        wait_for(lambda: _sent(target, planted, agent) > 0)
        moved = redrive(shop.client("sqs"), shop.queues[agent])
        code, told = operator.ended(replaying)

    assert wait_for(lambda: all(is_done(shop, each, agent) for each in planted)), (
        Counter(state(shop, each, agent) for each in planted)
    )
    rung = [_rung(shop, each) for each in planted]
    print(f"\nconsole moved {len(moved)} letters beside a replay: {told}")
    print(f"effects: {sum(rung)} of {len(rung)} events, each {sorted(set(rung))}")
    assert code == 0
    assert rung == [1] * CONSOLE


def test_replay_passes_over_the_letter_of_another_publication(
    shop: LocalStack, home: Home, target: Target
) -> None:
    """The worker would take it for a duplicate; the ledger makes the right one."""
    sqs, agent = shop.client("sqs"), "billing"
    queue = shop.queues[agent].dlq_url
    sqs.purge_queue(QueueUrl=queue)  # of what earlier tests have left
    (event_id,) = plant(target, shop, [replace(DOWN, agent=agent)])
    (letter,) = sqs.receive_message(QueueUrl=queue)["Messages"]
    sqs.delete_message(QueueUrl=queue, ReceiptHandle=letter["ReceiptHandle"])
    copy = json.loads(letter["Body"]) | {"id": "of another publication"}
    sqs.send_message(QueueUrl=queue, MessageBody=json.dumps(copy))

    code, told = operator.run(home, "replay", event_id)

    assert wait_for(lambda: is_done(shop, event_id, agent))
    assert (code, told["sent"], _rung(shop, event_id)) == (0, 1, 1)
    assert shop.dead_letters(agent) == 1
    sqs.purge_queue(QueueUrl=queue)


def test_what_fails_again_stops_the_rest(
    shop: LocalStack, home: Home, target: Target
) -> None:
    refused = Failure(
        agent="reports",
        exception_type="GiveUp",
        message="the till does not take this order",
        traceback="",
        cause="refused",
        category="downstream_rejected",
        downstream="till.example",
    )
    planted = plant(target, shop, [refused] * STOPPED, title="refuse")

    code, told = operator.run(
        home, "replay", *planted, "--rate", "3", "--stop-after", "2"
    )

    print(f"\nstopped: {told}")
    assert code == 1
    assert told["state"] == "STOPPED"
    assert told["failed_again"] > 2
    assert told["sent"] < STOPPED


def test_finished_event_runs_again_and_keeps_its_effects_unless_asked(
    shop: LocalStack, home: Home, target: Target
) -> None:
    event_id = order(shop, "labeled", "ok")
    assert wait_for(lambda: is_done(shop, event_id, AGENT))

    before = _attempts(shop, event_id)
    _, kept = operator.run(home, "replay", event_id, "--again")
    after = _attempts(shop, event_id)
    rung = _rung(shop, event_id)
    _, fresh = operator.run(home, "replay", event_id, "--again", "--fresh-effects")

    print(f"\nagain: {kept}\nfresh effects: {fresh}")
    assert (kept["sent"], kept["succeeded"], rung) == (1, 1, 1)
    assert after > before
    assert (fresh["sent"], fresh["succeeded"], _rung(shop, event_id)) == (1, 1, 2)


def _attempts(shop: LocalStack, event_id: str) -> int:
    return int(shop.rows(event_id)[f"run#{AGENT}"]["attempt"])


def _rung(shop: LocalStack, event_id: str) -> int:
    calls = shop.effects("till.example")
    return sum(call["count"] for call in calls if call["body"]["event"] == event_id)
