"""A replay as a job: written down, so that it can be resumed and looked up."""

from __future__ import annotations

import uuid
from dataclasses import asdict, dataclass
from datetime import UTC, datetime, timedelta
from enum import StrEnum

from cli.output import CliError
from cli.replaying.choose import Choice
from cli.target import Target
from lambdas.shared.clock import milliseconds, rfc3339
from lambdas.shared.ledger import Audit
from lambdas.shared.table import NEW, Change, Is

REPLAY, ROW = "replay#", "job"
_REMEMBERED = timedelta(days=90)


class JobState(StrEnum):
    """Where a job is."""

    RUNNING = "RUNNING"
    DONE = "DONE"
    #: Too many of what it sent failed again.
    STOPPED = "STOPPED"


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """One replay; what died after ``at`` is not part of it."""

    id: str
    choice: Choice
    at: datetime
    is_resumed: bool = False


def begin(target: Target, choice: Choice, total: int) -> Job:
    """Write a new job down, with who began it."""
    now = target.now()
    job = Job(id=uuid.uuid4().hex[:8], choice=choice, at=now)
    who = target.who()
    target.table.put(
        {
            "pk": f"{REPLAY}{job.id}",
            "sk": ROW,
            "state": str(JobState.RUNNING),
            "choice": choice.to_text(),
            "at": rfc3339(now),
            "who": who,
            "total": total,
            "expires_at": int((now + _REMEMBERED).timestamp()),
        },
        when=NEW,
    )
    _audit(target, who, f"replay of {total} began", f"{job.id} {_in_words(choice)}")
    return job


def _in_words(choice: Choice) -> str:
    """Return what was asked for; ids are words, by which `bellhop audit` finds them."""
    asked = {name: value for name, value in asdict(choice).items() if value}
    words = list(asked.pop("ids", ()))
    for name, value in asked.items():
        if name.endswith(("_from", "_until")):
            value = rfc3339(datetime.fromtimestamp(value / 1000, UTC))
        words.append(f"{name}={value}")
    return " ".join(words) or "all"


def resume(target: Target, job_id: str) -> Job:
    """Return a job that was begun before.

    Raises:
        CliError: there is none, or it is over.
    """
    row = target.table.get(f"{REPLAY}{job_id}", ROW)
    if row is None:
        raise CliError(f"no replay {job_id!r} in the ledger of {target.name}")
    if row["state"] == JobState.DONE:
        raise CliError(f"replay {job_id} is done")
    set_state(target, job_id, JobState.RUNNING)
    _audit(target, target.who(), "replay resumed", job_id)
    return Job(
        id=job_id,
        choice=Choice.from_text(row["choice"]),
        at=datetime.fromisoformat(row["at"]),
        is_resumed=True,
    )


def end(target: Target, job: Job, state: JobState, told: dict[str, int]) -> None:
    """Write down how the job ended, and its counts."""
    counts = {name: n for name, n in told.items() if n}
    set_state(target, job.id, state, counts)
    words = ", ".join(f"{n} {name.replace('_', ' ')}" for name, n in counts.items())
    _audit(
        target, target.who(), f"replay {state.lower()}: {words or 'nothing'}", job.id
    )


def set_state(
    target: Target, job_id: str, state: JobState, counts: dict[str, int] | None = None
) -> None:
    """Change the job's row."""
    pk = f"{REPLAY}{job_id}"
    change = Change(
        set={
            "state": str(state),
            "updated_at": milliseconds(target.now()),
            **(counts or {}),
        }
    )
    target.table.update(pk, ROW, change, when=Is("pk", pk))


def _audit(target: Target, who: str, what: str, about: str) -> None:
    target.ledger.audit(
        Audit(id=str(uuid.uuid4()), at=target.now(), who=who, what=what, about=about)
    )
