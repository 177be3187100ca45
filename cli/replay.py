"""`bellhop replay`: send dead letters round again, under the same event ids."""

from __future__ import annotations

import sys
from collections import Counter
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Any

import typer

from cli import times
from cli.output import FOUND, UsageError
from cli.replaying import job as jobs
from cli.replaying.choose import Choice, Chosen, check, choose
from cli.replaying.job import Job, JobState
from cli.replaying.others import QUEUES, Other
from cli.replaying.places import Places
from cli.replaying.send import Sender, TooManyFailed
from cli.session import Session, verb
from lambdas.dlq_digest.letters import Letter
from lambdas.shared.clock import milliseconds

_COLUMNS = ("agent", "category", "downstream", "letters")
_RESULT = (
    *("job", "sent", "succeeded", "failed_again", "under_way", "taken", "lost"),
    "cleared",
)

EventIds = Annotated[
    list[str] | None, typer.Argument(metavar="[EVENT_ID]...", help="These events only.")
]
Agent = Annotated[str | None, typer.Option(help="Of this agent only.", metavar="NAME")]
Group = Annotated[
    str | None, typer.Option(help="Of this group only, see dead list.", metavar="ID")
]
Category = Annotated[
    str | None,
    typer.Option(help="Of this category only: rate_limited, ...", metavar="NAME"),
]
OlderThan = Annotated[
    str | None, typer.Option(help="Dead for longer than that: 2h.", metavar="TIME")
]
NewerThan = Annotated[
    str | None, typer.Option(help="Dead for less than that: 1d.", metavar="TIME")
]
All = Annotated[bool, typer.Option("--all", help="All dead letters of all agents.")]
Queue = Annotated[
    str | None,
    typer.Option(
        help="Letters of another failure queue: rules, schedules, relay, async.",
        metavar="NAME",
    ),
]
DryRun = Annotated[
    bool, typer.Option("--dry-run", help="Count what would be sent; send nothing.")
]
Yes = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask at a terminal.")]
Rate = Annotated[
    float, typer.Option(min=0.1, max=500, help="So many a second.", metavar="N")
]
StopAfter = Annotated[
    int,
    typer.Option(min=0, help="Stop when more than N fail again.", metavar="N"),
]
Wait = Annotated[
    str,
    typer.Option(help="Watch what was sent for so long, at the end.", metavar="TIME"),
]
Again = Annotated[
    bool,
    typer.Option(
        "--again",
        help="What is over, or named and stuck; effects are kept, steps not.",
    ),
]
Fresh = Annotated[
    bool, typer.Option("--fresh-effects", help="With --again: make effects anew.")
]
Since = Annotated[
    str | None, typer.Option(help="With --again: accepted from then.", metavar="TIME")
]
Until = Annotated[
    str | None, typer.Option(help="With --again: accepted before then.", metavar="TIME")
]
Resume = Annotated[
    str | None, typer.Option(help="Go on with an interrupted replay.", metavar="JOB")
]


@dataclass(frozen=True, slots=True)
class Pace:
    """How fast, how far, and how long it is watched."""

    per_second: float
    most_failures: int
    wait_seconds: float


@dataclass(frozen=True, slots=True)
class _How:
    resume: str | None
    queue: str | None
    everything: bool
    is_dry: bool
    asks: bool


def register(app: typer.Typer) -> None:
    """Add the verb."""
    verb(app, "replay")(replay)


def replay(
    session: Session,
    event_ids: EventIds = None,
    *,
    agent: Agent = None,
    group: Group = None,
    category: Category = None,
    older_than: OlderThan = None,
    newer_than: NewerThan = None,
    everything: All = False,
    queue: Queue = None,
    dry_run: DryRun = False,
    yes: Yes = False,
    rate: Rate = 10,
    stop_after: StopAfter = 5,
    wait: Wait = "20s",
    again: Again = False,
    fresh_effects: Fresh = False,
    since: Since = None,
    until: Until = None,
    resume: Resume = None,
) -> None:
    """Send dead letters round again; the counts come first.

    Each run goes on under its event id: finished steps and effects are not
    repeated, whoever else redrives at the same time. Pressing twice does no
    harm. Stops when more than --stop-after of them fail again, and says how to
    go on. Ends with 1 when it stopped, or when letters had to stay.
    """
    now = session.target.now()
    pace = Pace(rate, stop_after, times.duration(wait).total_seconds())
    how = _How(resume, queue, everything, dry_run, asks=not yes)
    choice = Choice(
        ids=tuple(event_ids or ()),
        agent=agent,
        group=group,
        category=category,
        died_from=_ago(newer_than, now),
        died_until=_ago(older_than, now),
        accepted_from=_instant(since, now),
        accepted_until=_instant(until, now),
        again=again,
        fresh_effects=fresh_effects,
    )
    _begin(session, choice, pace, how)


def _begin(session: Session, choice: Choice, pace: Pace, how: _How) -> None:
    if how.resume is not None:
        _go(session, jobs.resume(session.target, how.resume), pace)
        return
    if how.queue is not None:
        _replay_other(session, how.queue, choice, is_dry=how.is_dry)
        return
    check(session.target, choice)
    _refuse_blind(choice, everything=how.everything)
    _replay(session, choice, pace, is_dry=how.is_dry, asks=how.asks)


def _replay(
    session: Session, choice: Choice, pace: Pace, *, is_dry: bool, asks: bool
) -> None:
    """Count first; then, unless it is dry or somebody thinks better of it, send."""
    chosen = choose(session.target, choice, session.target.now())
    _count(session, chosen)
    if is_dry or not chosen.items:
        _nothing_sent(session, chosen, is_dry=is_dry)
        return
    if asks and not session.out.as_json and sys.stdin.isatty():
        typer.confirm("Send them round again?", abort=True)
    _go(session, jobs.begin(session.target, choice, len(chosen.items)), pace)


def _refuse_blind(choice: Choice, *, everything: bool) -> None:
    if choice.again and not choice.ids and choice.accepted_from is None:
        raise UsageError("--again wants event ids, or --since TIME")
    if choice.is_everything and not everything:
        raise UsageError(
            "say which: event ids, --agent, --group, --category, --older-than,"
            " --newer-than, or --all"
        )


def _count(session: Session, chosen: Chosen) -> None:
    counted: Counter[tuple[str, str, str | None]] = Counter()
    for item in chosen.items:
        letter = item.letter
        kind = str(letter.blame) if letter else str(item.dead.run.state)
        other = letter.reason.downstream if letter else None
        counted[item.agent, kind, other] += 1
    rows = [
        {"agent": agent, "category": kind, "downstream": other, "letters": n}
        for (agent, kind, other), n in counted.most_common()
    ]
    if not session.out.as_json and rows:
        session.out.table(rows, _COLUMNS, "")
    session.out.say(f"{len(chosen.items)} to send round again")
    if chosen.expired:
        session.out.say(
            f"{chosen.expired} too old to be run safely: left where they are"
        )


def _nothing_sent(session: Session, chosen: Chosen, *, is_dry: bool) -> None:
    session.out.data(
        {"would_send": len(chosen.items), "too_old": chosen.expired, "sent": 0}
    )
    if is_dry and chosen.items:
        session.out.say("nothing was sent: leave --dry-run out to do it")


def _go(session: Session, job: Job, pace: Pace) -> None:
    """Work on the job to its end, or to where too much fails again."""
    target = session.target
    places = Places(target)
    items = choose(target, job.choice, job.at).items
    sender = Sender(
        target=target,
        job=job,
        places=places,
        per_second=pace.per_second,
        most_failures=pace.most_failures,
    )
    state = JobState.DONE
    session.out.say(f"replay {job.id}")
    try:
        with session.out.progress() as bar:
            task = bar.add_task("sent", total=len(items))
            sender.step = lambda: bar.advance(task)
            sender.send(items)
        sender.wait(pace.wait_seconds)
    except TooManyFailed:
        state = JobState.STOPPED
    told = sender.tally.told()
    jobs.end(target, job, state, told)
    session.out.data({"job": job.id, "state": str(state), **told})
    if not session.out.as_json:
        session.out.table([{"job": job.id, **told}], _RESULT, "")
    if state is JobState.STOPPED:
        session.out.say(
            f"stopped: more than {pace.most_failures} failed again. The rest is kept."
            f" When the cause is mended: bellhop replay --resume {job.id}"
        )
        session.end(FOUND)


def _replay_other(
    session: Session, queue: str, choice: Choice, *, is_dry: bool
) -> None:
    if queue not in QUEUES:
        raise UsageError(f"no queue {queue!r}; there are: {', '.join(QUEUES)}")

    def is_chosen(letter: Letter) -> bool:
        return (
            choice.group in {None, letter.reason.fingerprint}
            and choice.category in {None, str(letter.blame)}
            and (
                not choice.ids
                or bool({letter.event_id, letter.message_id} & set(choice.ids))
            )
        )

    target = session.target
    other = Other(target=target, places=Places(target), queue=queue, chosen=is_chosen)
    moved = other.replay(is_dry=is_dry, step=lambda: None)
    told: dict[str, Any] = {
        "queue": queue,
        "letters": moved.found,
        "sent": moved.sent,
        "kept": len(moved.kept),
    }
    session.out.data({**told, "reasons": moved.kept})
    if not session.out.as_json:
        session.out.table([told], tuple(told), "")
    for reason in moved.kept:
        session.out.say(f"kept {reason}")
    if moved.kept:
        session.end(FOUND)


def _ago(text: str | None, now: datetime) -> int | None:
    return None if text is None else milliseconds(now - times.duration(text))


def _instant(text: str | None, now: datetime) -> int | None:
    return None if text is None else milliseconds(times.instant(text, now))
