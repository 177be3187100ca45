"""Reading ``fleet.toml``: at synth, on the command line and at every cold start."""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import lambdas
from lambdas.shared.fleet.agents import read_agents
from lambdas.shared.fleet.feeds import is_feed, read_feeds
from lambdas.shared.fleet.model import (
    CALENDAR,
    CRON,
    DLQ_RETENTION_DAYS,
    QUEUE_RETENTION_DAYS,
    WAITING_DAYS,
    Agent,
    Calendar,
    Fleet,
    Schedule,
    Source,
    Subscription,
    bus_source,
    logical_name,
)
from lambdas.shared.fleet.problems import FleetError, Table
from lambdas.shared.fleet.sources import FindTraits, read_sources, slow_to_start
from lambdas.shared.fleet.timetable import read_calendars, read_digest, read_schedules

# Set on the local stack, in demos and in tests only.
FLEET_VARIABLE = "BELLHOP_FLEET"

_REGION = re.compile(r"[a-z]{2}(-[a-z]+)+-\d")
_VPC, _SUBNET = re.compile(r"vpc-[0-9a-f]{8,17}"), re.compile(r"subnet-[0-9a-f]{8,17}")
# Lambda allows 1,800 s since late 2026, not yet in every account: by choice only.
_TIMEOUT_LIMITS = ("900", "1800")


def load(path: Path | None = None) -> Fleet:
    """Read and check a fleet, with what its senders' modules demand.

    Without ``path``: the file that ``BELLHOP_FLEET`` names, or ``fleet.toml``
    beside the ``lambdas`` package, where it lies in a checkout and in Lambda.

    Raises:
        FleetError: the fleet is wrong; it holds every problem found.
    """
    # Imported here: it asks the senders' modules, which a function need not hold.
    from lambdas.shared import senders

    return _read(path or _where(), senders.traits)


def deployed() -> Fleet:
    """Read the fleet that this function was deployed with.

    As :func:`load`, but asks no sender's module: synth has done so, and a
    function that receives nothing lacks what some of them import.
    """
    return _read(_where(), None)


def _where() -> Path:
    named = os.environ.get(FLEET_VARIABLE)
    if named:
        return Path(named)
    return Path(lambdas.__path__[0]).parent / "fleet.toml"


def _read(path: Path, find_traits: FindTraits | None) -> Fleet:
    try:
        text = path.read_text(encoding="utf-8-sig")  # as some editors save it
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or "want UTF-8 text"
        raise FleetError([f"{path}: {why}"]) from error
    return parse(text, name=path.name, find_traits=find_traits)


def parse(
    text: str, *, name: str = "fleet.toml", find_traits: FindTraits | None = None
) -> Fleet:
    """Read a fleet from ``text``; ``name`` is what its problems call the file.

    Raises:
        FleetError: as :func:`load`.
    """
    try:
        values = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        end = f"at line {len(text.splitlines())}, the end of the file"
        why = str(error).replace("at end of document", end)
        raise FleetError([f"{name}: not TOML: {why}"]) from error
    except (ValueError, RecursionError) as error:
        # TOML all the same; a number of thousands of digits, or ever deeper lists.
        raise FleetError([f"{name}: not readable: {str(error)[:200]}"]) from error
    problems: list[str] = []
    fleet = _fleet(Table("", values, problems), find_traits)
    if problems:
        raise FleetError([f"{name}: {problem}" for problem in problems])
    return fleet


def _fleet(root: Table, find_traits: FindTraits | None) -> Fleet:
    own = root.child("fleet")
    longest = int(_timeout_limit(own))
    source_tables = root.named("sources")
    agent_tables = root.named("agents")
    feed_tables = {n: t for n, t in source_tables.items() if is_feed(n, t)}
    called = {n: t for n, t in source_tables.items() if n not in feed_tables}
    sources = read_sources(called, find_traits)
    feeds = read_feeds(feed_tables, sources)
    agents = read_agents(agent_tables, source_tables, longest_seconds=longest)
    schedule_tables = root.named("schedules")
    calendar_tables = root.named("calendars")
    _check_spelling("schedule", schedule_tables)
    _check_spelling("calendar", calendar_tables)
    _check_spelling("feed", feed_tables)
    schedules = read_schedules(schedule_tables, agent_tables)
    calendars = read_calendars(calendar_tables, agent_tables)
    agents = {
        name: replace(agent, on=(*agent.on, *_wakes(agent, schedules, calendars)))
        for name, agent in agents.items()
    }
    for name, agent in agents.items():
        if not agent.on and not agent_tables[name].raw("on"):
            agent_tables[name].problem(
                "on", "nothing wakes this agent; want events, a schedule or a calendar"
            )
    fleet = Fleet(
        sources=sources,
        feeds=feeds,
        agents=agents,
        schedules=schedules,
        calendars=calendars,
        digest=read_digest(root.child("digest")) if root.has("digest") else None,
        ledger_days=_ledger_days(own, agents),
        warm=(warm := _warm(own, sources, find_traits)),
        reserved_receivers=_reserved(own, warm),
        region=own.matching("region", _REGION, "a region like 'eu-central-1'"),
        **_network(own),
    )
    own.close()
    root.close()
    return fleet


def _timeout_limit(own: Table) -> str:
    value = own.raw("timeout_limit_seconds")
    if value is None or str(value) in _TIMEOUT_LIMITS:
        return str(value or _TIMEOUT_LIMITS[0])
    own.problem("timeout_limit_seconds", f"want 900 or 1800, got {value!r}")
    return _TIMEOUT_LIMITS[-1]


def _ledger_days(own: Table, agents: Mapping[str, Agent]) -> int:
    """Return how long events are kept: longer than anything can still happen to one.

    TTL deletes late, never early: what a run lacks of its last day is the margin.
    """
    days = own.whole_or("ledger_days", 45, 1, 3650)
    seconds = max((each.max_duration_seconds for each in agents.values()), default=1)
    running = -(-seconds // 86_400)
    least = WAITING_DAYS + running
    if days < least:
        own.problem(
            "ledger_days",
            f"want at least {least} ({DLQ_RETENTION_DAYS} as a dead letter,"
            f" {QUEUE_RETENTION_DAYS} in the queue after a redrive, {running} for the"
            f" longest run), got {days}",
        )
    return days


def _network(own: Table) -> dict[str, Any]:
    """Read where workers that poll live, if not in a network made for them."""
    network = {
        "vpc": own.matching("vpc", _VPC, "a VPC like 'vpc-0a1b2c3d'"),
        "subnets": own.texts(
            "subnets",
            want="subnets like 'subnet-0a1b2c3d'",
            accept=lambda each: bool(_SUBNET.fullmatch(each)),
        ),
        "public_ip": own.boolean("public_ip", default=False),
    }
    if own.has("vpc") != own.has("subnets"):
        given, other = ("vpc", "subnets") if own.has("vpc") else ("subnets", "vpc")
        own.problem(given, f"want {other} beside it")
    elif own.has("public_ip") and not own.has("vpc"):
        own.problem("public_ip", "goes with vpc and subnets; want it removed")
    return network


def _warm(
    own: Table, sources: Mapping[str, Source], find_traits: FindTraits | None
) -> int | None:
    warm = own.whole("warm", 0, 100)
    if find_traits is None or own.has("warm"):
        return warm
    for name, seconds in slow_to_start(sources, find_traits):
        own.problem(
            "warm",
            f"source {name!r} waits {seconds:g} s for an answer; want 1 (a receiver"
            " kept started) or 0 (a cold start may lose its event)",
        )
    return warm


def _reserved(own: Table, warm: int | None) -> int | None:
    reserved = own.whole("reserved_receivers", 1, 10_000)
    if reserved is not None and reserved < (warm or 0):
        own.problem(
            "reserved_receivers", f"want at least warm = {warm}, got {reserved}"
        )
    return reserved


def _check_spelling(what: str, tables: Mapping[str, Table]) -> None:
    """Tell of names that the stack cannot tell apart: ``s-1`` and ``s1``."""
    spelled: dict[str, str] = {}
    for name, table in tables.items():
        twin = spelled.setdefault(logical_name(name), name)
        if twin != name:
            table.problem(
                "", f"is spelled like {what} {twin!r} in the stack; want another name"
            )


def _wakes(
    agent: Agent, schedules: Mapping[str, Schedule], calendars: Mapping[str, Calendar]
) -> list[Subscription]:
    """Return how the ticks and planned tasks of ``agent`` find it on the bus."""
    wakes = []
    ticks = [each.name for each in schedules.values() if each.agent == agent.name]
    if ticks:
        wakes.append(_wake(CRON, ["tick"], {"schedule": ticks}))
    for calendar in calendars.values():
        mine = [rule.category for rule in calendar.rules if rule.agent == agent.name]
        if mine:
            kinds = list(dict.fromkeys(mine))
            wakes.append(_wake(CALENDAR, kinds, {"calendar": [calendar.name]}))
    return wakes


def _wake(source: str, kinds: list[str], facts: dict[str, Any]) -> Subscription:
    return Subscription(
        pattern={
            "source": [bus_source(source)],
            "detail-type": kinds,
            "detail": {"facts": facts},
        }
    )
