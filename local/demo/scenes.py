"""The scenes: each does something to the running stack and checks what came of it."""

from __future__ import annotations

import os
import signal
from datetime import timedelta
from functools import partial

from local.demo import post
from local.demo.telling import Telling, is_done, state
from local.redrive import redrive
from local.stack import LocalStack, wait_for

# source, its event, the agent that hears it
_ARRIVALS = (
    ("github", "issues.opened", "issue-triage"),
    ("slack", "app_mention", "counter"),
    ("stripe", "charge.failed", "bookkeeper"),
    ("linear", "Issue.create", "counter"),
    ("roastery", "order.placed", "counter"),
)
_RECEIVES = 3  # max_receives of the demo's fleet


def each_sender(stack: LocalStack, telling: Telling) -> None:
    """(a) One signed event from each sender becomes one effect outside."""
    telling.title("(a) Five senders each sign one event and post it to their door.")
    accepted = {}
    for source, event, agent in _ARRIVALS:
        answer = post.send(stack, source, post.signed(stack, source, event))
        telling.check(
            f"{source} is answered 200 in {answer.milliseconds} ms: {answer.event_id}",
            answer.status == 200 and answer.is_deduplicated is False,
        )
        accepted[source] = (str(answer.event_id), agent)
    for source, (event_id, agent) in accepted.items():
        telling.check_soon(
            f"the agent {agent} did its work on {source}'s event",
            partial(is_done, stack, event_id, agent),
        )
    effects = stack.effects()
    for effect in effects:
        telling.say(f"  outside: {effect['method']} https:/{effect['path']}")
    telling.check(
        f"the outside world saw {len(effects)} effects, each once",
        len(effects) == len(_ARRIVALS) and all(e["count"] == 1 for e in effects),
    )


def five_copies(stack: LocalStack, telling: Telling) -> None:
    """(b) The same delivery five times at once is one event."""
    telling.title("(b) GitHub sends the same delivery five times at the same moment.")
    since = stack.wire.mark()
    before = len(stack.effects())
    delivery = post.signed(stack, "github", "issues.opened")
    answers = post.send_at_once(stack, "github", delivery, 5)
    telling.check(
        f"five answers of 2xx: {sorted(a.status for a in answers)}",
        all(answer.is_success for answer in answers),
    )
    new = [answer for answer in answers if answer.is_deduplicated is False]
    telling.check("one of them is new, four are duplicates", len(new) == 1)
    event_id = str(answers[0].event_id)
    telling.check_soon(
        "the agent did its work", lambda: is_done(stack, event_id, "issue-triage")
    )
    telling.check(
        "one record in the ledger, one effect outside",
        "event" in stack.rows(event_id) and len(stack.effects()) == before + 1,
    )
    writes = stack.wire.counts(since, stack.functions["receiver"])["dynamodb.PutItem"]
    telling.check(f"five writes were tried on the wire: {writes}", writes == 5)


def forgeries(stack: LocalStack, telling: Telling) -> None:
    """(c) What is forged, stale or unknown is refused and leaves no trace."""
    telling.title("(c) A forger, a replayed old request, and a door that is none.")
    rows, since = stack.row_count(), stack.wire.mark()
    forged = post.signed(stack, "github", "issues.opened", tampered=True)
    late = timedelta(minutes=10)
    stale = post.signed(stack, "stripe", "charge.failed", late=late)
    unknown = post.signed(stack, "github", "issues.opened")
    for what, source, delivery, wanted in (
        ("a body changed after signing", "github", forged, "bad_signature"),
        ("a signature ten minutes old", "stripe", stale, "stale"),
        ("a source nobody configured", "gopher", unknown, "unknown_source"),
    ):
        answer = post.send(stack, source, delivery)
        telling.check(
            f"{what} is refused: {answer.status} {answer.error}",
            400 <= answer.status < 500 and answer.error == wanted,
        )
    calls = stack.wire.counts(since, stack.functions["receiver"])
    stored = {name for name in calls if name.startswith(("dynamodb.", "s3."))}
    telling.check(
        "nothing was written, nor even tried on the wire",
        stack.row_count() == rows and not stored,
    )


def killed_worker(stack: LocalStack, telling: Telling) -> None:
    """(d) A worker killed after its effect, before it could write that down."""
    telling.title("(d) A worker is killed from outside, right after its effect.")
    since = stack.wire.mark()
    stack.behave("/counter.example", delay_ms=1500, times=1)
    before = len(stack.effects("counter.example"))
    answer = post.send(stack, "slack", post.signed(stack, "slack", "app_mention"))
    event_id = str(answer.event_id)
    happened = wait_for(lambda: stack.effects("counter.example")[before:], every=0.02)
    if not telling.check("the effect happened outside", happened):
        return
    pid = happened[0]["pid"]
    os.kill(pid, signal.SIGKILL)
    telling.say(f"  killed: SIGKILL to the worker's process, pid {pid}")
    wait_for(lambda: pid in stack.wire.exits(since))
    code = stack.wire.exits(since).get(pid)
    telling.check(f"process {pid} ended with exit {code}", code == -signal.SIGKILL)
    telling.check(
        f"the ledger does not know how it went: {state(stack, event_id, 'counter')}",
        state(stack, event_id, "counter") == "PROCESSING",
    )
    telling.say("  its message is hidden for 18 s, then it is delivered again ...")
    telling.check_soon(
        "the second receive finished the run",
        lambda: is_done(stack, event_id, "counter"),
    )
    senders = [c.pid for c in stack.wire.calls(since) if c.name == "world.POST"]
    telling.check(f"another process did it: {senders}", set(senders) - {pid})
    effects = stack.effects("counter.example")[before:]
    telling.check(
        "asked twice under one operation id, the counter called it out once",
        [e["count"] for e in effects] == [1] and effects[0]["requests"] == 2,
    )


def poison(stack: LocalStack, telling: Telling) -> str:
    """(e) An event that no attempt survives; returns its id."""
    telling.title("(e) Stripe tells of a charge in a currency the bookkeeper has not.")
    before = len(stack.effects("books.example"))
    bad = post.send(stack, "stripe", post.charge(stack, "xaf"))
    good = post.send(stack, "stripe", post.charge(stack, "usd"))
    poison_id, neighbour = str(bad.event_id), str(good.event_id)
    telling.check_soon(
        "its neighbour in dollars is booked meanwhile",
        lambda: is_done(stack, neighbour, "bookkeeper"),
    )
    telling.check_soon(
        "the poison event becomes a dead letter",
        lambda: stack.dead_letters("bookkeeper") == 1,
    )
    row = stack.rows(poison_id)["run#bookkeeper"]
    telling.check(
        f"after exactly {row['attempt']} receives", row["attempt"] == _RECEIVES
    )
    reason = row.get("reason", {})
    telling.check(
        f"kept with its reason: {reason.get('type')}: {reason.get('message')}",
        row["state"] == "DEAD" and "xaf" in str(reason.get("message")),
    )
    telling.check(
        "one entry in the books: the neighbour's",
        len(stack.effects("books.example")) == before + 1,
    )
    return poison_id


def redriven(stack: LocalStack, telling: Telling, poison_id: str) -> None:
    """(f) After the fix, the dead letter is redriven as the console does it."""
    telling.title("(f) The bookkeeper is given the currency; the letter is redriven.")
    _give_currencies(stack, "eur usd xaf")
    before = len(stack.effects("books.example"))
    moved = redrive(stack.client("sqs"), stack.queues["bookkeeper"])
    if not telling.check("one dead letter was moved", len(moved) == 1):
        return
    old, new = moved[0]
    telling.check(f"as a new message: {old[:8]} became {new[:8]}", old != new)
    telling.check_soon(
        "it is done now", lambda: is_done(stack, poison_id, "bookkeeper")
    )
    row = stack.rows(poison_id)["run#bookkeeper"]
    telling.check("by the new message", row.get("carrier") == new)
    effects = stack.effects("books.example")[before:]
    telling.check("booked, once", [e["count"] for e in effects] == [1])
    telling.check("no dead letter is left", stack.dead_letters("bookkeeper") == 0)


def _give_currencies(stack: LocalStack, currencies: str) -> None:
    function = stack.functions["worker:bookkeeper"]
    lambdas = stack.client("lambda")
    found = lambdas.get_function_configuration(FunctionName=function)
    variables = {**found["Environment"]["Variables"], "CURRENCIES": currencies}
    lambdas.update_function_configuration(
        FunctionName=function, Environment={"Variables": variables}
    )
