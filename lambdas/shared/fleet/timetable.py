"""The tables that wake agents by the clock: schedules, calendars and the digest."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Mapping
from datetime import datetime
from typing import Any, cast

from lambdas.shared.fleet.model import (
    BUILT_IN_CATEGORIES,
    Calendar,
    CalendarRule,
    Digest,
    Schedule,
)
from lambdas.shared.fleet.problems import NAME, Table, did_you_mean, shown
from lambdas.shared.fleet.sources import A_SECRET_NAME, SECRET_NAME

# Six digits of days are 2,700 years: more would lead beyond what a date can be.
RATE = re.compile(r"1 (minute|hour|day)|([2-9]|[1-9]\d{1,5}) (minutes|hours|days)")
_AT = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d")
_TIME = re.compile(r"([01]\d|2[0-3]):[0-5]\d")
_ZONE = re.compile(r"[A-Za-z0-9_+-]+(/[A-Za-z0-9_+-]+)*")
_COUNTRY = re.compile(r"[A-Z]{2}(-[A-Z0-9]{1,4})?")
_EMAIL = re.compile(r"[^\s@]+@[^\s@]+\.[^\s@]+")


def read_schedules(
    tables: Mapping[str, Table], agents: Collection[str]
) -> dict[str, Schedule]:
    """Read every ``[schedules.NAME]``."""
    return {name: _schedule(name, table, agents) for name, table in tables.items()}


def read_calendars(
    tables: Mapping[str, Table], agents: Collection[str]
) -> dict[str, Calendar]:
    """Read every ``[calendars.NAME]``."""
    return {name: _calendar(name, table, agents) for name, table in tables.items()}


def read_digest(table: Table) -> Digest:
    """Read ``[digest]``."""
    digest = Digest(
        time=table.matching("time", _TIME, "a time like '08:00'") or "08:00",
        timezone=read_timezone(table),
        secret_name=table.matching("secret_name", SECRET_NAME, A_SECRET_NAME)
        or "bellhop/digest",
        channel=table.text("channel"),
        all_clear=table.boolean("all_clear", default=False),
        email=table.texts(
            "email",
            want="e-mail addresses",
            accept=lambda address: bool(_EMAIL.fullmatch(address)),
        ),
    )
    table.close()
    return digest


# A waiting tick keeps its items in one row of the ledger, which holds 400 KB.
MOST_ITEMS = 200
ITEMS_BYTES = 200_000


def _schedule(name: str, table: Table, agents: Collection[str]) -> Schedule:
    cron = read_cron(table)
    rate = table.matching("rate", RATE, "a rate like '15 minutes'")
    at = _instant(table)
    if sum(table.has(key) for key in ("cron", "rate", "at")) != 1:
        table.problem("", "want exactly one of cron, rate, at")
    schedule = Schedule(
        name=name,
        agent=_agent_of(table, agents),
        cron=cron,
        rate=rate,
        at=at,
        timezone=read_timezone(table),
        overlap=cast(
            Any, table.choice("overlap", ("skip", "queue", "concurrent")) or "skip"
        ),
        # Scheduler: a flexible window is 1 to 1440 minutes.
        flexible_minutes=table.whole_or("flexible_minutes", 0, 0, 1440),
        max_lateness_seconds=table.whole("max_lateness_seconds", 60, 86_400),
        grace_seconds=table.whole_or("grace_seconds", 300, 60, 86_400),
        catch_up=cast(Any, table.choice("catch_up", ("last", "all"))),
        items=_items(table),
        enabled=table.boolean("enabled", default=True),
    )
    table.close()
    return schedule


def _instant(table: Table) -> str | None:
    # TOML has local date-times of its own: at = 2026-12-24T08:00:00 without quotes.
    value = table.raw("at")
    if isinstance(value, datetime) and value.tzinfo is None:
        return value.isoformat(timespec="seconds")
    if value is None or (isinstance(value, str) and _AT.fullmatch(value)):
        return value
    table.problem("at", f"want '2026-12-24T08:00:00', no zone, got {shown(value)}")
    return None


def read_cron(table: Table) -> str | None:
    """Return the table's cron expression; one that never fires is a problem."""
    text = table.text("cron", want="six fields like '0 6 ? * MON-FRI *'")
    if text is None:
        return None
    # Imported here: only a fleet with such schedules pays for it.
    from lambdas.shared.cron import CronError, parse

    try:
        cron = parse(text)
    except CronError as error:
        table.problem("cron", str(error))
        return text
    if not cron.is_possible:
        table.problem(
            "cron",
            f"{text!r} never fires: no year of it has such a day; the next five"
            " fires: none",
        )
    return " ".join(text.split())


def _items(table: Table) -> tuple[Any, ...]:
    value = table.raw("items")
    if value is None:
        return ()
    if not isinstance(value, list) or not value:
        table.problem("items", f"want a list that is not empty, got {shown(value)}")
        return ()
    try:
        texts = [json.dumps(item, sort_keys=True, allow_nan=False) for item in value]
    except (TypeError, ValueError) as error:
        table.problem("items", f"want what JSON can hold: {error}")
        return ()
    size = sum(map(len, texts))
    if len(value) > MOST_ITEMS:
        table.problem("items", f"want at most {MOST_ITEMS} of them, got {len(value)}")
    if size > ITEMS_BYTES:
        table.problem("items", f"want at most {ITEMS_BYTES} bytes as JSON, got {size}")
    for item, text in zip(value, texts, strict=True):
        if texts.count(text) > 1:
            table.problem("items", f"want each once, got {shown(item)} twice")
            break
    return tuple(value)


def _calendar(name: str, table: Table, agents: Collection[str]) -> Calendar:
    feed = table.choice("feed", ("ical", "google")) or "ical"
    rules = tuple(_rule(rule, agents) for rule in table.each("rules"))
    if not rules:
        table.problem("rules", "want at least one rule {category, agent, title}")
    calendar = Calendar(
        name=name,
        feed=cast(Any, feed),
        secret_name=table.matching("secret_name", SECRET_NAME, A_SECRET_NAME)
        or f"bellhop/calendar-{name}",
        calendar_id=_calendar_id(table, feed),
        act_as=table.matching("act_as", _EMAIL, "a person's e-mail address"),
        timezone=read_timezone(table),
        days_ahead=table.whole_or("days_ahead", 60, 1, 366),
        holidays=table.matching("holidays", _COUNTRY, "a country like 'DE' or 'US-NY'"),
        rules=rules,
    )
    _check_kind(table, calendar)
    table.close()
    return calendar


def _calendar_id(table: Table, feed: str) -> str:
    given = table.text(
        "calendar_id", want="an id like 'a1b2@group.calendar.google.com'"
    )
    if feed == "google" and not table.has("calendar_id"):
        table.problem("calendar_id", "want the calendar's id at Google, or 'primary'")
    return given or ""


def _check_kind(table: Table, calendar: Calendar) -> None:
    """Say what means nothing to this kind of feed."""
    if calendar.feed == "google":
        for number, rule in enumerate(calendar.rules):
            if rule.tagged is not None:
                table.problem(
                    f"rules[{number}].tagged", "Google's entries have no tags"
                )
        return
    for key in ("calendar_id", "act_as"):
        if table.has(key):
            table.problem(key, 'means something only with feed = "google"')


_MATCHED = ("title", "description", "tagged", "attendee")


def _rule(table: Table, agents: Collection[str]) -> CalendarRule:
    category = table.matching("category", NAME, "a category like 'month-end'")
    if category is None and not table.has("category"):
        table.problem("category", "want a category like 'month-end'")
    buffer_hours, title = BUILT_IN_CATEGORIES.get(category or "", (0, None))
    given = {key: _pattern(table, key) for key in _MATCHED}
    if not any(given.values()):
        given["title"] = title
    rule = CalendarRule(
        category=category or "deadline",
        agent=_agent_of(table, agents),
        buffer_hours=table.whole_or("buffer_hours", buffer_hours, 0, 24 * 90),
        business_days=table.boolean("business_days", default=False),
        **given,
    )
    table.close()
    return rule


def _pattern(table: Table, key: str) -> str | None:
    """Return a glob, or a regular expression between slashes."""
    text = table.text(key)
    if text is not None and len(text) > 1 and text[0] == text[-1] == "/":
        try:
            re.compile(text[1:-1])
        except re.error as error:
            table.problem(key, f"want a regular expression between slashes: {error}")
    return text


def _agent_of(table: Table, agents: Collection[str]) -> str:
    agent = table.text("agent", want="an agent's name")
    if agent is None:
        if not table.has("agent"):
            table.problem("agent", "want an agent's name, got nothing")
        return ""
    if agent not in agents:
        table.problem("agent", f"no agent {agent!r}{did_you_mean(agent, agents)}")
    return agent


def read_timezone(table: Table) -> str:
    """Read ``timezone``, an IANA zone; UTC where nothing is said."""
    want = "a zone like 'Europe/Berlin'"
    name = table.matching("timezone", _ZONE, want)
    if name is None or name == "UTC":
        return "UTC"
    # Imported here: only a fleet with zones pays for it.
    from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

    try:
        ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        if _knows_zones():
            table.problem("timezone", f"want {want}, got {name!r}")
    return name


def _knows_zones() -> bool:
    # A Lambda without zone data must still start; synth has checked the names.
    from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

    try:
        ZoneInfo("Europe/Berlin")
    except ZoneInfoNotFoundError:
        return False
    return True
