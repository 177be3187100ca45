"""The morning's digest: read what is dead, give reasons, tell, remember the telling."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from lambdas.dlq_digest import blocks, wording
from lambdas.dlq_digest.known import KnownLetters, known
from lambdas.dlq_digest.letters import OTHER_QUEUES, Letter, Letterbox, Raw, other
from lambdas.dlq_digest.reconcile import Found, Reconciler
from lambdas.dlq_digest.report import Links, Report, grouped
from lambdas.dlq_digest.tell import Teller
from lambdas.shared.clock import Clock, milliseconds
from lambdas.shared.errors import BellhopError
from lambdas.shared.fleet import Agent, Digest
from lambdas.shared.groups import Decision, Groups, Standing
from lambdas.shared.ledger import Audit
from lambdas.shared.observe import count, logger
from lambdas.shared.table import NEW, Change, Is, Table

# 5,000 reads take some ten seconds; who has more dead letters reads no list of them.
MOST_KNOWN = 5_000
# Of each queue, and only as many as the ledger does not know.
MOST_RECEIVED = 300
# Long enough to read them, short enough not to be in the way of a redrive.
_HIDE_SECONDS = 30

DIGEST_ROW, STATE = "digest", "state"
_REMEMBERED = timedelta(days=90)


@dataclass(frozen=True, kw_only=True)
class Reader:
    """Reads all dead letters, wherever they are, within bounds."""

    agents: Mapping[str, Agent]
    table: Table
    reconciler: Reconciler
    boxes: Mapping[str, Letterbox]
    clock: Clock
    most_known: int = MOST_KNOWN
    most_received: int = MOST_RECEIVED

    def report(self) -> Report:
        """Return what there is to tell; nothing is decided, reasons are written."""
        now = self.clock()
        names = {agent.key: agent.name for agent in self.agents.values()}
        found = known(self.table, names, now, most=self.most_known)
        tally = _Tally(letters=list(found.letters), total=found.total)
        for name, box in self.boxes.items():
            try:
                self._read(name, box, found, tally)
            except BellhopError as error:
                # One queue that cannot be read must not silence the others.
                tally.remarks.append(f"{_title(name)} could not be read: {error}")
        state = self.table.get(DIGEST_ROW, STATE) or {}
        groups = Groups(self.table)
        return Report(
            at=now,
            groups=grouped(
                tally.letters,
                _remembering(groups.decision),
                now=now,
                last=_instant(state.get("told_at")),
            ),
            total=tally.total,
            read=len(tally.letters),
            strays=tally.strays,
            remarks=tuple(tally.remarks),
        )

    def _read(
        self, name: str, box: Letterbox, found: KnownLetters, tally: _Tally
    ) -> None:
        agent = self.agents.get(name)
        unknown = box.waiting() - (found.by_agent.get(agent.key, 0) if agent else 0)
        if unknown <= 0:
            return
        if box.is_moving():
            tally.remarks.append(
                f"{_title(name)} is being redriven: about {unknown} letters were not"
                " looked at"
            )
            return
        # Known letters lie between the unknown ones: what is received first is chance.
        held: list[Raw] = []
        read = 0
        try:
            for raw in self._received(box, held):
                letter = self._look(name, agent, raw)
                if isinstance(letter, Letter):
                    tally.letters.append(letter)
                    read += 1
                elif letter is not Found.KNOWN:
                    tally.strays += letter is Found.STRAY
                    unknown -= 1
                if read >= unknown:
                    break
        finally:
            box.release(held)
        tally.total += max(read, unknown)

    def _received(self, box: Letterbox, held: list[Raw]) -> Iterator[Raw]:
        seen: set[str] = set()
        while len(held) < self.most_received:
            batch = box.receive(_HIDE_SECONDS)
            held += batch
            fresh = [raw for raw in batch if raw.id not in seen]
            if not fresh:
                return
            seen.update(raw.id for raw in fresh)
            yield from fresh

    def _look(self, name: str, agent: Agent | None, raw: Raw) -> Letter | Found:
        if agent is not None:
            return self.reconciler.look(agent, raw)
        return other(name, raw)


@dataclass(kw_only=True)
class _Tally:
    letters: list[Letter]
    total: int
    strays: int = 0

    def __post_init__(self) -> None:
        self.remarks: list[str] = []


@dataclass(frozen=True, kw_only=True)
class Morning:
    """One digest a day: told once, however often Lambda calls."""

    settings: Digest
    reader: Reader
    links: Links
    teller: Teller
    audit: Callable[[Audit], None]
    clock: Clock

    def run(self) -> str:
        """Tell what there is; returns ``told``, ``silent`` or ``told before``.

        Raises:
            Unavailable, Misconfigured: it was not told. Calling again is safe.
        """
        now = self.clock()
        day = _day(now, self.settings.timezone)
        table = self.reader.table
        state = table.get(DIGEST_ROW, STATE) or {}
        if state.get("told_day") == day:
            logger.info("digest was told before", day=day)
            return "told before"
        report = self.reader.report()
        self._reopen(report, now)
        if report.is_clear and not self.settings.all_clear:
            self._remember(report, now, day)
            logger.info("digest has nothing to tell")
            return "silent"
        subject = wording.headline(report)
        text = blocks.plain(report, self.links)
        self.teller.tell(subject, text, blocks.message(report, self.links))
        self._remember(report, now, day)
        count("DigestTold")
        logger.info("digest told", letters=report.total, groups=len(report.groups))
        return "told"

    def _reopen(self, report: Report, now: datetime) -> None:
        groups = Groups(self.reader.table)
        for group in report.open:
            found = group.decision
            if found.standing is Standing.OPEN:
                continue
            if groups.reopen(group.fingerprint, group.agent, found):
                self.audit(
                    Audit(
                        id=str(uuid.uuid4()),
                        at=now,
                        who="dlq_digest",
                        what=f"group opened again, was {found.standing}",
                        about=f"{group.agent} {group.fingerprint}",
                    )
                )

    def _remember(self, report: Report, now: datetime, day: str) -> None:
        groups = Groups(self.reader.table)
        for group in report.groups:
            groups.tell(group.fingerprint, group.agent, group.decision, now)
        change = Change(
            set={
                "told_at": milliseconds(now),
                "told_day": day,
                "expires_at": int((now + _REMEMBERED).timestamp()),
            }
        )
        anyhow = NEW | Is("pk", DIGEST_ROW)
        self.reader.table.update(DIGEST_ROW, STATE, change, when=anyhow)


def _day(now: datetime, timezone: str) -> str:
    try:
        local = now.astimezone(ZoneInfo(timezone))
    except ZoneInfoNotFoundError:  # a machine without zone data: any one day will do
        local = now
    return f"{local:%Y-%m-%d}"


def _title(name: str) -> str:
    if name in OTHER_QUEUES:
        return f"the failure queue of {name}"
    return f"the dead letters of {name}"


def _instant(ms: Any) -> datetime | None:
    return None if ms is None else datetime.fromtimestamp(ms / 1000, UTC)


def _remembering(
    decision_of: Callable[[str, str], Decision],
) -> Callable[[str, str], Decision]:
    found: dict[tuple[str, str], Decision] = {}

    def remembered(fingerprint: str, agent: str) -> Decision:
        key = (fingerprint, agent)
        if key not in found:
            found[key] = decision_of(fingerprint, agent)
        return found[key]

    return remembered
