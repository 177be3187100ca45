"""The ``[sources]`` that nobody calls: feeds, which the poller looks at."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any, cast

from lambdas.shared.fleet.model import BUILT_IN_SOURCES, Feed, Pick, Source
from lambdas.shared.fleet.problems import Table, shown
from lambdas.shared.fleet.sources import (
    A_SECRET_NAME,
    JSON_PATH,
    SECRET_NAME,
    refuse_shared_secrets,
)
from lambdas.shared.fleet.timetable import RATE, read_cron, read_timezone

#: The sender of a source that is a feed.
FEED = "feed"

# The port may only be https's own: the way out knows no other.
_URL = re.compile(r"https://[^\s/?#@:]+(:443)?(/[^\s?#]*)?(\?[^\s#]*)?")
_AUTHORIZATION = re.compile(r"bearer|basic|header:[!#$%&'*+.^_`|~0-9A-Za-z-]+")
# What the request says of itself is the poller's affair.
_NOT_OURS_TO_SET = re.compile(
    r"(?i)header:(host|user-agent|accept(-encoding)?|if-.*|content-.*|connection"
    r"|transfer-encoding)"
)
_DEFAULT_RATE = "30 minutes"
# A run of the poller has five minutes, and writes each item down.
_MOST_ITEMS_A_RUN = 1000


def is_feed(name: str, table: Table) -> bool:
    """Tell whether ``[sources.NAME]`` is looked at, rather than called."""
    sender = table.raw("sender")
    return sender == FEED or (sender is None and name == FEED)


def read_feeds(
    tables: Mapping[str, Table], sources: Mapping[str, Source]
) -> dict[str, Feed]:
    """Read every ``[sources.NAME]`` with ``sender = "feed"``.

    ``sources`` are the others: no two share a secret.
    """
    feeds = {name: _feed(name, table) for name, table in tables.items()}
    secret_names = {name: feed.secret_name for name, feed in feeds.items()}
    refuse_shared_secrets(tables, secret_names, sources)
    return feeds


def _feed(name: str, table: Table) -> Feed:
    if name in BUILT_IN_SOURCES:
        table.problem("", f"{name!r} is built in; want another name")
    cron, rate = read_cron(table), table.matching("rate", RATE, "a rate like '1 hour'")
    if table.has("cron") and table.has("rate"):
        table.problem("", "want cron or rate, not both")
    secret_name = table.matching("secret_name", SECRET_NAME, A_SECRET_NAME)
    form = table.choice("format", ("json", "rss"))
    if form is None and not table.has("format"):
        table.problem("format", "want json | rss (RSS, RDF and Atom)")
    feed = Feed(
        name=name,
        format=cast(Any, form or "rss"),
        url=table.matching("url", _URL, "an address like 'https://example.com/feed'"),
        authorization=table.matching(
            "authorization", _AUTHORIZATION, "bearer | basic | header:NAME"
        ),
        secret_name=secret_name or f"bellhop/{name}",
        cron=None if table.has("rate") else cron,
        rate=rate or (None if table.has("cron") else _DEFAULT_RATE),
        timezone=read_timezone(table),
        items=table.matching("items", JSON_PATH, "a JSON path like 'data.items'"),
        id_from=_pick(table, "id_from"),
        kind_from=_pick(table, "kind_from") or Pick(where="text", name="item"),
        time_from=_pick(table, "time_from"),
        tenant_from=_pick(table, "tenant_from"),
        facts=table.texts(
            "facts",
            want="JSON paths into an item like 'author.name'",
            accept=lambda path: bool(JSON_PATH.fullmatch(path)),
        ),
        first_run=_first_run(table),
        edits=cast(Any, table.choice("edits", ("ignore", "accept")) or "ignore"),
        max_items=table.whole_or("max_items", 100, 1, _MOST_ITEMS_A_RUN),
        enabled=table.boolean("enabled", default=True),
    )
    _check(table, feed)
    table.has("sender")  # known: it is what brought us here
    table.close()
    return feed


def _check(table: Table, feed: Feed) -> None:
    if feed.format == "rss" and table.has("items"):
        table.problem("items", 'only format = "json" takes this; want it removed')
    if table.has("authorization") and not table.has("url"):
        table.problem(
            "url",
            "the secret holds what proves us, so it cannot hold the address, too;"
            " want the address here",
        )
    if _NOT_OURS_TO_SET.fullmatch(feed.authorization or ""):
        table.problem("authorization", f"the poller itself sets {feed.authorization!r}")
    if table.has("secret_name") and not feed.secret:
        table.problem(
            "secret_name",
            "nothing is secret here: url says the address; want authorization, or"
            " this removed",
        )


def _pick(table: Table, key: str) -> Pick | None:
    want = "'body:JSON.PATH' into an item"
    if key == "kind_from":
        want += " or 'text:VALUE'"
    value = table.text(key, want=want)
    if value is None:
        return None
    where, _, name = value.partition(":")
    checks: dict[str, Callable[[str], object]] = {"body": JSON_PATH.fullmatch}
    if key == "kind_from":
        checks["text"] = str.strip
    if where not in checks or not checks[where](name):
        table.problem(key, f"want {want}, got {value!r}")
        return None
    return Pick(where=cast(Any, where), name=name)


def _first_run(table: Table) -> Any:
    value = table.raw("first_run")
    is_whole = isinstance(value, int) and not isinstance(value, bool)
    if value is None or value in ("nothing", "all"):
        return value or "nothing"
    if is_whole and 1 <= value <= _MOST_ITEMS_A_RUN:
        return value
    table.problem(
        "first_run",
        f"want nothing | all | 1 to {_MOST_ITEMS_A_RUN} (the newest so many),"
        f" got {shown(value)}",
    )
    return "nothing"
