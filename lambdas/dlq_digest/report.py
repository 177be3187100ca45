"""What a digest says, before anybody words it: groups, verdicts, urgency. Pure."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from urllib.parse import quote

from lambdas.dlq_digest.letters import Letter
from lambdas.shared.blame import Blame
from lambdas.shared.clock import milliseconds
from lambdas.shared.groups import Decision, Standing

# So many letters on one other side are no accident of one agent's.
VENDOR_ISSUE = 5
SOON = timedelta(hours=48)

# What says something about the agent, wherever it was talking to.
_ABOUT_THE_AGENT = frozenset({Blame.AGENT_BUG, Blame.BAD_PAYLOAD})


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """Letters of one fault, one agent and one queue. Times are epoch milliseconds.

    ``is_new``: no digest has told of it; ``is_back``: one has, and yesterday's
    has not, or it had been closed.
    """

    queue: str
    agent: str
    fingerprint: str
    blame: Blame
    category: str
    type: str
    message: str
    downstream: str | None
    letters: tuple[Letter, ...]
    fresh: int
    standing: Standing = Standing.OPEN
    is_new: bool = False
    is_back: bool = False
    decision: Decision = field(default_factory=Decision)

    @property
    def count(self) -> int:
        """How many letters were read."""
        return len(self.letters)

    @property
    def oldest_ms(self) -> int:
        """When its first letter died."""
        return min(letter.died_ms for letter in self.letters)

    @property
    def expires_ms(self) -> int:
        """When SQS drops the first of its letters."""
        return min(letter.expires_ms for letter in self.letters)

    def expiring(self, until_ms: int) -> int:
        """Return how many letters SQS drops before then."""
        return sum(letter.expires_ms <= until_ms for letter in self.letters)


@dataclass(frozen=True, slots=True, kw_only=True)
class Vendor:
    """Another side on which many letters failed, whoever was talking to it."""

    name: str
    letters: int
    agents: tuple[str, ...]
    main: Blame


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """A whole digest. ``total`` counts all letters, ``read`` those in the groups.

    ``remarks`` are sentences about what could not be looked at.
    """

    at: datetime
    groups: tuple[Group, ...]
    total: int
    read: int
    strays: int = 0
    remarks: tuple[str, ...] = ()

    @property
    def open(self) -> tuple[Group, ...]:
        """The groups that want somebody's attention, the largest first."""
        return tuple(g for g in self.groups if g.standing is Standing.OPEN)

    @property
    def quiet(self) -> tuple[Group, ...]:
        """The groups that somebody has decided about."""
        return tuple(g for g in self.groups if g.standing is not Standing.OPEN)

    @property
    def is_clear(self) -> bool:
        """Whether there is nothing to say."""
        return not self.open and not self.remarks

    @property
    def expiring(self) -> int:
        """How many letters of open groups SQS drops within 48 hours."""
        until = milliseconds(self.at + SOON)
        return sum(group.expiring(until) for group in self.open)

    def by_blame(self) -> list[tuple[Blame, int]]:
        """Return the letters of open groups by whose fault it looks like."""
        counted: Counter[Blame] = Counter()
        for group in self.open:
            counted[group.blame] += group.count
        return counted.most_common()

    def vendors(self) -> list[Vendor]:
        """Return the other sides with five letters or more, the worst first."""
        by_name: dict[str, list[Group]] = {}
        for group in self.open:
            if group.downstream and group.blame not in _ABOUT_THE_AGENT:
                by_name.setdefault(group.downstream, []).append(group)
        found = [_vendor(name, groups) for name, groups in by_name.items()]
        found.sort(key=lambda vendor: (-vendor.letters, vendor.name))
        return [vendor for vendor in found if vendor.letters >= VENDOR_ISSUE]


def _vendor(name: str, groups: Sequence[Group]) -> Vendor:
    faults: Counter[Blame] = Counter()
    for group in groups:
        faults[group.blame] += group.count
    return Vendor(
        name=name,
        letters=sum(group.count for group in groups),
        agents=tuple(sorted({group.agent for group in groups})),
        main=faults.most_common(1)[0][0],
    )


def grouped(
    letters: Iterable[Letter],
    decision_of: Callable[[str, str], Decision],
    *,
    now: datetime,
    last: datetime | None,
) -> tuple[Group, ...]:
    """Return the groups of ``letters``, the largest first.

    ``last`` is when the last digest was told; without one a day ago.
    """
    found: dict[tuple[str, str, str], list[Letter]] = {}
    for letter in letters:
        key = (letter.queue, letter.agent, letter.reason.fingerprint)
        found.setdefault(key, []).append(letter)
    since = milliseconds(last or now - timedelta(days=1))
    groups = [
        _group(members, decision_of(fingerprint, agent), since, milliseconds(now))
        for (_, agent, fingerprint), members in found.items()
    ]
    groups.sort(key=lambda g: (-g.count, g.agent, g.fingerprint))
    return tuple(groups)


def _group(
    letters: list[Letter], decision: Decision, since_ms: int, now_ms: int
) -> Group:
    newest = max(letters, key=lambda letter: letter.died_ms)
    standing = decision.now(newest.died_ms, now_ms)
    was_told = decision.first_told is not None
    has_reopened = decision.standing is not standing
    was_absent = decision.last_told is not None and decision.last_told < since_ms
    return Group(
        queue=newest.queue,
        agent=newest.agent,
        fingerprint=newest.reason.fingerprint,
        blame=newest.blame,
        category=newest.reason.category,
        type=newest.reason.type,
        message=newest.reason.message,
        downstream=newest.reason.downstream,
        letters=tuple(letters),
        fresh=sum(letter.died_ms >= since_ms for letter in letters),
        standing=standing,
        is_new=not was_told and decision.standing is Standing.OPEN,
        is_back=has_reopened or was_absent,
        decision=decision,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Links:
    """How a group is sent round again: the command, and the console's page."""

    stack: str
    region: str
    queue_urls: dict[str, str]

    def command(self, group: Group) -> str:
        """Return the command that redrives the group."""
        where = (
            f"--agent {shlex.quote(group.agent)}"
            if group.queue == "agents"
            else f"--queue {group.queue}"
        )
        stack = "--local" if self.stack == "local" else f"--stack {self.stack}"
        return f"bellhop replay {stack} {where} --group {group.fingerprint}"

    def console(self, group: Group) -> str | None:
        """Return the DLQ's page in the console, where it can redrive it."""
        url = self.queue_urls.get(group.agent) if group.queue == "agents" else None
        if url is None or self.stack == "local":
            return None  # the local stack has no console
        host = {"cn": "console.amazonaws.cn", "us-gov": "console.amazonaws-us-gov.com"}
        area = next((h for p, h in host.items() if self.region.startswith(p)), None)
        domain = area or f"{self.region}.console.aws.amazon.com"
        return (
            f"https://{domain}/sqs/v3/home?region={self.region}"
            f"#/queues/{quote(url, safe='')}"
        )
