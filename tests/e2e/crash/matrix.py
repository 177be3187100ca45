"""The crash matrix: points from a recorded run, each killed with SIGKILL, once."""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

from lambdas.shared import clock
from lambdas.shared.adapters.dynamodb import DynamoTable
from lambdas.shared.ledger import TableLedger
from local.redrive import redrive
from local.stack import LocalStack, wait_for
from tests.e2e.crash.till import Order, Till
from tests.fakes.ledger import FakeBodies

_SENDERS = 8
_REST_SECONDS = 600


@dataclass(frozen=True, slots=True, kw_only=True)
class Scenario:
    """An order's kind, the agent that hears it, and how it ends when nothing fails."""

    kind: str
    agent: str
    ends: str

    def functions(self) -> tuple[str, ...]:
        return ("receiver", "relay", f"worker:{self.agent}")


SERVED = Scenario(kind="order.served", agent="waiter", ends="SUCCEEDED")
DEAF = Scenario(kind="order.deaf", agent="stranger", ends="SUCCEEDED")
GIVEN_UP = Scenario(kind="order.given_up", agent="quitter", ends="DEAD")
WALKED = Scenario(kind="order.walked", agent="walker", ends="SUCCEEDED")
SCENARIOS = (SERVED, DEAF, GIVEN_UP, WALKED)


@dataclass(frozen=True, slots=True, kw_only=True)
class Point:
    """Before or after the n-th call of a name by one function in a scenario."""

    scenario: Scenario
    function: str
    moment: str
    call: str

    @property
    def is_cold(self) -> bool:
        """Whether it is made by a fresh process only, for no event in particular."""
        return self.call.startswith("secretsmanager.")

    def armed(self, stack: LocalStack, order: Order) -> str:
        point = f"{self.moment}:{self.call}@{stack.functions[self.function]}"
        return point if self.is_cold else f"{point}#{order.event_id}"


@dataclass(kw_only=True)
class Row:
    """What became of the event whose processing was killed at a point."""

    point: Point
    order: Order
    killed: bool = False
    sent: int = 0
    state: str = "QUEUED"
    reason: str = ""
    attempts: int = 0
    effects: Counter[str] = field(default_factory=Counter)
    letters: int = 0
    finally_: str = ""

    def __str__(self) -> str:
        point = self.point
        told = " ".join(f"{name} {n}" for name, n in sorted(self.effects.items()))
        cells = (
            f"{point.scenario.agent:<9}{point.function.partition(':')[0]:<9}",
            f"{point.moment:<7}{point.call:<34}",
            f"{'killed' if self.killed else 'NOT REACHED':<12}",
            f"sent {self.sent}  attempts {self.attempts}  {self.state:<10}",
            f"{self.reason:<9} {told:<16} letters {self.letters}  {self.finally_}",
        )
        return " ".join(cells).rstrip()


def record(stack: LocalStack, till: Till, scenario: Scenario) -> list[Point]:
    """Let one order go its way undisturbed; returns every point on it."""
    since = stack.wire.mark()
    order = Order.new(scenario.kind)
    till.ring(order)
    rest(stack, [order], scenario)
    return [
        Point(scenario=scenario, function=function, moment=moment, call=call)
        for function in scenario.functions()
        for call in stack.wire.points(since, stack.functions[function])
        for moment in ("before", "after")
    ]


def play(stack: LocalStack, till: Till, points: Sequence[Point]) -> list[Row]:
    """Kill at all ``points``, each about an event of its own, at the same time."""
    rows = [Row(point=p, order=Order.new(p.scenario.kind)) for p in points]
    stack.arm(*(row.point.armed(stack, row.order) for row in rows))
    with ThreadPoolExecutor(_SENDERS) as pool:
        for row, sent in zip(
            rows, pool.map(till.ring, [row.order for row in rows]), strict=True
        ):
            row.sent = sent
    for scenario in {point.scenario for point in points}:
        orders = [row.order for row in rows if row.point.scenario is scenario]
        rest(stack, orders, scenario)
    fired = {each["armed"] for each in stack.all_fired()}
    for row in rows:
        row.killed = row.point.armed(stack, row.order) in fired
        look(stack, row)
    return rows


def make_cold(stack: LocalStack, function: str) -> None:
    """Let the next call of a function start a fresh process."""
    lambdas, name = stack.client("lambda"), stack.functions[function]
    found = lambdas.get_function_configuration(FunctionName=name)
    variables = {**found["Environment"]["Variables"], "COLD": str(time.time())}
    lambdas.update_function_configuration(
        FunctionName=name, Environment={"Variables": variables}
    )


def rest(stack: LocalStack, orders: Iterable[Order], scenario: Scenario) -> None:
    """Return when each order is done or dead, and nothing is left in the queue."""
    queue = stack.queues[scenario.agent]
    left = {order.event_id for order in orders}

    def at_rest() -> bool:
        for event_id in list(left):
            row = stack.rows(event_id).get(f"run#{scenario.agent}", {})
            if row.get("state") in {"SUCCEEDED", "DEAD"}:
                left.discard(event_id)
        return not left and stack.waiting(queue.url) == 0

    assert wait_for(at_rest, seconds=_REST_SECONDS, every=1), f"never at rest: {left}"


def look(stack: LocalStack, row: Row) -> None:
    """See what became of an order: in the ledger, outside, and in the DLQ."""
    agent = row.point.scenario.agent
    rows = stack.rows(row.order.event_id)
    run = rows[f"run#{agent}"]
    row.state, row.attempts = run["state"], int(run["attempt"])
    row.reason = run.get("reason", {}).get("category", "")
    row.effects = effects_of(stack, row.order)


def effects_of(stack: LocalStack, order: Order) -> Counter[str]:
    """Count what happened outside for an order, by the name of the effect."""
    found: Counter[str] = Counter()
    for effect in stack.effects(".example"):
        if isinstance(effect["body"], dict) and effect["body"].get("order") == order.id:
            found[effect["path"].rpartition("/")[2]] += effect["count"]
    return found


def letters_of(stack: LocalStack, agent: str) -> Counter[str]:
    """Count the dead letters of an agent by event; they are left where they are."""
    sqs, queue = stack.client("sqs"), stack.queues[agent]
    # By message: on a busy machine the first may show again before the last is seen.
    found: dict[str, str] = {}
    handles = []
    while messages := sqs.receive_message(
        QueueUrl=queue.dlq_url, MaxNumberOfMessages=10
    ).get("Messages", []):
        for message in messages:
            found[message["MessageId"]] = _event_id(message)
            handles.append(message["ReceiptHandle"])
    for handle in handles:
        sqs.change_message_visibility(
            QueueUrl=queue.dlq_url, ReceiptHandle=handle, VisibilityTimeout=0
        )
    return Counter(found.values())


def settle(stack: LocalStack, row: Row) -> None:
    """Say of each effect in doubt what the outside world knows."""
    agent = row.point.scenario.agent
    table = DynamoTable(stack.ledger_table, lambda: stack.client("dynamodb"))
    ledger = TableLedger(table, FakeBodies(), ledger_days=45)
    for effect in ("cook", "serve"):
        ledger.settle(
            row.order.event_id,
            agent,
            effect,
            happened=effects_of(stack, row.order)[effect] > 0,
            at=clock.now(),
        )


def redrive_all(stack: LocalStack, scenario: Scenario, rows: Sequence[Row]) -> None:
    """Move every dead letter back, and wait until all is at rest again."""
    redrive(stack.client("sqs"), stack.queues[scenario.agent])

    def done() -> bool:
        states = (
            stack.rows(row.order.event_id)[f"run#{scenario.agent}"]["state"]
            for row in rows
        )
        return all(state == "SUCCEEDED" for state in states)

    wait_for(done, seconds=_REST_SECONDS, every=1)


def _event_id(message: Any) -> str:
    event_id: str = json.loads(message["Body"])["detail"]["event_id"]
    return event_id
