"""What the feed says, against what is planned and begun: the changes. Pure.

Work is begun once. Whatever an entry is called today, wherever it was moved, and
under whatever ids the feed exports it now, it is first looked for among what is
known. And a feed that has lost most of it is not believed.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from itertools import pairwise

from lambdas.planner.occurrence import Reading, Window
from lambdas.planner.rules import Rules, Wanted
from lambdas.planner.task import State, Task

# Where a series has only one occurrence left to compare with: a month has 31 days.
_FARTHEST_MOVE = timedelta(days=15)
# One or two deleted entries are everyday; most of three are no accident of one hand.
_FEWEST_SUSPICIOUS = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """A task as it shall be; ``why`` is for a person."""

    task: Task
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """The changes, what was passed over, and what the feed says that is not obeyed."""

    changes: tuple[Change, ...]
    skipped: tuple[tuple[str, str], ...]
    held: tuple[str, ...]
    tasks: tuple[Task, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """Which calendar is planned, when, and what of it was ever looked at.

    ``since``: what was over before then is nobody's miss. ``believe_shrink``: a
    person said that what is gone is really gone.
    """

    calendar: str
    now: datetime
    since: datetime
    window: Window
    believe_shrink: bool = False


def plan(
    reading: Reading, known: Mapping[str, Task], rules: Rules, asked: Asked
) -> Plan:
    """Return what changes; of the same feed and ledger, the same, and then nothing."""
    return _Planning(reading, known, rules, asked).done()


@dataclass
class _Planning:
    reading: Reading
    known: Mapping[str, Task]
    rules: Rules
    asked: Asked
    changes: list[Change] = field(default_factory=list)
    skipped: list[tuple[str, str]] = field(default_factory=list)
    held: list[str] = field(default_factory=list)

    def done(self) -> Plan:
        wanted = self._wanted()
        ids = _Bound(self.asked, self.known, wanted).ids()
        renamed = [id_ for id_ in ids.other_uid if id_ in self.known]
        if renamed:
            self.held.append(
                f"{len(renamed)} entries came back under other ids: they are taken for"
                " the same"
            )
        for id_, each in ids.wanted.items():
            self._decide(each, self.known.get(id_))
        self._lose([task for id_, task in self.known.items() if id_ not in ids.wanted])
        after = {**self.known, **{c.task.id: c.task for c in self.changes}}
        return Plan(
            changes=tuple(self.changes),
            skipped=tuple(self.skipped),
            held=tuple(self.held),
            tasks=tuple(sorted(after.values(), key=lambda t: (t.begin_at, t.id))),
        )

    def _wanted(self) -> list[Wanted]:
        found = []
        for occurrence, asked in self.rules.each(self.reading.occurrences):
            if not asked:
                self.skipped.append((occurrence.title, "no rule matches"))
            found += asked
        return found

    def _decide(self, wanted: Wanted, old: Task | None) -> None:
        if old is None:
            self._begin_to_know(wanted)
            return
        new = old.updated(wanted)
        if old.state is State.BEGUN:
            new = replace(new, is_withdrawn=wanted.occurrence.is_cancelled)
            self._change(old, new, _moved(old, new) or "changed after it began")
        elif wanted.occurrence.is_cancelled:
            new = replace(new, state=State.CANCELLED)
            self._change(old, new, "cancelled")
        elif new.over_at <= self.asked.now:
            new = replace(new, state=State.MISSED)
            self._change(old, new, "its deadline passed before its work began")
        else:
            new = replace(new, state=State.PLANNED)
            self._change(old, new, _moved(old, new) or "changed")

    def _begin_to_know(self, wanted: Wanted) -> None:
        task = Task.of(self.asked.calendar, wanted)
        if wanted.occurrence.is_cancelled:
            self.skipped.append((task.title, "cancelled"))
        elif task.over_at > self.asked.now:
            is_late = task.begin_at <= self.asked.now
            why = "its start has passed: now" if is_late else "new"
            self.changes.append(Change(task=task, why=why))
        elif task.over_at > self.asked.since:
            task = replace(task, state=State.MISSED)
            self.changes.append(Change(task=task, why="its deadline has passed"))
        else:
            self.skipped.append((task.title, "was over before it was looked at"))

    def _lose(self, unseen: Iterable[Task]) -> None:
        """Deal with the tasks that the feed does not ask for any more."""
        now, until = self.asked.now, self.asked.window.until
        ahead = [t for t in self.known.values() if _is_open(t, now, until)]
        gone = [t for t in unseen if _is_open(t, now, until)]
        kept = self._mistrusted(ahead, gone)
        for task in unseen:
            if task.state is not State.PLANNED and task not in gone:
                continue
            if task.over_at <= now:
                missed = replace(task, state=State.MISSED)
                self._change(task, missed, "its deadline passed, its entry is gone")
            elif task in gone and task not in kept:
                ended = (
                    replace(task, is_withdrawn=True)
                    if task.state is State.BEGUN
                    else replace(task, state=State.CANCELLED)
                )
                self._change(task, ended, "its entry is gone, or no rule matches it")

    def _mistrusted(self, ahead: Sequence[Task], gone: Sequence[Task]) -> list[Task]:
        """Return the tasks that are kept although the feed has lost their entries."""
        there = {(o.uid, o.name) for o in self.reading.occurrences}
        lost = [t for t in gone if (t.uid, t.occurrence) not in there]
        is_empty = self.reading.entries == 0
        is_most = len(lost) >= _FEWEST_SUSPICIOUS and 2 * len(lost) > len(ahead)
        if not lost or self.asked.believe_shrink or not (is_empty or is_most):
            return []
        what = "it is empty" if is_empty else f"{len(lost)} of {len(ahead)} are gone"
        self.held.append(f"{what}: what was planned is kept; nothing is cancelled")
        return lost

    def _change(self, old: Task, new: Task, why: str) -> None:
        if new != old:
            self.changes.append(Change(task=new, why=why))


def _is_open(task: Task, now: datetime, until: datetime) -> bool:
    """Tell whether ``task`` should be in a feed that is looked at until then."""
    is_current = task.state is State.PLANNED or (
        task.state is State.BEGUN and not task.is_withdrawn
    )
    return is_current and now < task.over_at and task.deadline < until


def _moved(old: Task, new: Task) -> str | None:
    if new.deadline != old.deadline:
        return f"moved from {old.deadline:%Y-%m-%d %H:%M} UTC"
    if new.begin_at != old.begin_at:
        return "its buffer was changed"
    if old.state is State.CANCELLED:
        return "it is back"
    return "renamed" if new.title != old.title else None


@dataclass
class _Ids:
    wanted: dict[str, Wanted] = field(default_factory=dict)
    other_uid: list[str] = field(default_factory=list)


@dataclass
class _Bound:
    """Finds which known task, if any, each wanted one is."""

    asked: Asked
    known: Mapping[str, Task]
    wanted: Sequence[Wanted]

    def ids(self) -> _Ids:
        found = _Ids()
        now_called = {
            (t.uid, t.occurrence, t.category): i for i, t in self.known.items()
        }
        fresh = []
        for each in self.wanted:
            id_ = now_called.get(_called(each))
            if id_ is None or id_ in found.wanted:
                fresh.append(each)
            else:
                found.wanted[id_] = each
        orphans = {
            id_: task
            for id_, task in self.known.items()
            if id_ not in found.wanted and task.over_at > self.asked.window.since
        }
        fresh = self._renamed(fresh, orphans, found)
        fresh = self._moved(fresh, orphans, found)
        fresh = self._under_other_ids(fresh, orphans, found)
        for each in fresh:
            task = Task.of(self.asked.calendar, each)
            if task.id in self.known:
                # The id is another entry's work by now; this one is later seen again.
                continue
            found.wanted[task.id] = each
        return found

    def _renamed(
        self, fresh: list[Wanted], orphans: dict[str, Task], found: _Ids
    ) -> list[Wanted]:
        """Work that began is not begun again since its entry has another title now."""
        begun = {
            (task.uid, task.occurrence): id_
            for id_, task in orphans.items()
            if task.state is State.BEGUN
        }
        left = []
        for each in fresh:
            id_ = begun.pop((each.occurrence.uid, each.occurrence.name), None)
            if id_ is None:
                left.append(each)
            else:
                found.wanted[id_] = each
                del orphans[id_]
        return left

    def _moved(
        self, fresh: list[Wanted], orphans: dict[str, Task], found: _Ids
    ) -> list[Wanted]:
        """A series that was moved, made or ended: the nearest is the same."""
        series: dict[tuple[str, str], list[Wanted]] = defaultdict(list)
        for each in self.wanted:
            series[each.occurrence.uid, each.rule.category].append(each)
        near = []
        for number, each in enumerate(fresh):
            key = each.occurrence.uid, each.rule.category
            farthest = _farthest(series[key])
            for id_, task in orphans.items():
                distance = abs(task.deadline - each.occurrence.start)
                if (task.uid, task.category) == key and distance <= farthest:
                    near.append((distance, number, id_))
        taken = set()
        for _, number, id_ in sorted(near):
            if number in taken or id_ not in orphans:
                continue
            taken.add(number)
            found.wanted[id_] = fresh[number]
            del orphans[id_]
        return [each for number, each in enumerate(fresh) if number not in taken]

    def _under_other_ids(
        self, fresh: list[Wanted], orphans: dict[str, Task], found: _Ids
    ) -> list[Wanted]:
        """Some exports make new ids at every change: same title and time, same work."""
        said = {(t.title, t.deadline, t.category): i for i, t in orphans.items()}
        left = []
        for each in fresh:
            occurrence = each.occurrence
            key = occurrence.title, occurrence.start, each.rule.category
            id_ = said.pop(key, None)
            if id_ is None:
                left.append(each)
                continue
            found.wanted[id_] = each
            found.other_uid.append(id_)
            del orphans[id_]
        return left


def _called(wanted: Wanted) -> tuple[str, str, str]:
    return wanted.occurrence.uid, wanted.occurrence.name, wanted.rule.category


def _farthest(series: Sequence[Wanted]) -> timedelta:
    """Return how far an occurrence may have moved and still be the same."""
    starts = sorted({each.occurrence.start for each in series})
    gaps = [later - earlier for earlier, later in pairwise(starts)]
    return min(gaps) / 2 if gaps else _FARTHEST_MOVE
