"""Sources that are looked at: what their table may say, and what is wrong with one."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from lambdas.shared.fleet import Feed, Pick, parse
from lambdas.shared.fleet.lint import lint
from tests.unit.fleet.broken import HELLO, problems

RSS = 'sender = "feed"\nformat = "rss"\nurl = "https://example.com/feed"\n'

EITHER = '{ pattern = { "$or" = [{ detail-type = ["item"] }, { source = ["x"] }] } }'


def of_feed(keys: str, base: str = RSS) -> str:
    return f"{HELLO}[sources.news]\n{base}{keys}"


def feed(keys: str = "", base: str = RSS) -> Feed:
    return parse(of_feed(keys, base)).feeds["news"]


def test_feed_is_no_door_and_has_usual_values() -> None:
    fleet = parse(of_feed(""))

    assert list(fleet.sources) == ["github"]
    assert fleet.feeds == {
        "news": Feed(
            name="news",
            format="rss",
            secret_name="bellhop/news",
            url="https://example.com/feed",
            rate="30 minutes",
        )
    }
    assert fleet.feeds["news"].expression == "rate(30 minutes)"
    assert not fleet.feeds["news"].secret


def test_agents_hear_a_feed_as_any_source() -> None:
    on = 'on = [{ source = "news", kind = "item" }]'
    fleet = parse(f'[agents.reader]\nrun = "agents.hello:run"\n{on}\n' + of_feed(""))

    (heard,) = fleet.agents["reader"].on
    assert heard.pattern == {"source": ["bellhop.news"], "detail-type": ["item"]}


def test_feed_of_json_says_where_everything_is() -> None:
    keys = """
cron = "0 6 ? * MON-FRI *"
timezone = "Europe/Berlin"
items = "data.entries"
id_from = "body:key"
kind_from = "body:type"
time_from = "body:made.at"
tenant_from = "body:account.id"
facts = ["labels[0]"]
first_run = 3
edits = "accept"
max_items = 10
enabled = false
authorization = "header:X-Api-Key"
secret_name = "shop/key"
"""

    found = feed(keys, base=RSS.replace("rss", "json"))

    assert found.expression == "cron(0 6 ? * MON-FRI *)"
    assert found.id_from == Pick(where="body", name="key")
    assert found.kind_from == Pick(where="body", name="type")
    assert (found.first_run, found.edits, found.max_items) == (3, "accept", 10)
    assert found.secret
    assert (found.secret_name, found.rate, found.enabled) == ("shop/key", None, False)


def test_address_may_be_the_secret() -> None:
    assert feed(base='sender = "feed"\nformat = "rss"\n').secret


@pytest.mark.parametrize(
    ("keys", "problem"),
    [
        ("url = 'http://example.com/'", "url: want an address like"),
        ("url = 'https://example.com:8443/'", "url: want an address like"),
        ("url = 'https://user@example.com/'", "url: want an address like"),
        ("rate = '5 fortnights'", "rate: want a rate like '1 hour'"),
        ("cron = '0 6'", "cron: "),
        ("rate = '1 hour'\ncron = '0 6 * * ? *'", "want cron or rate, not both"),
        ("timezone = 'Mars/Base'", "timezone: want a zone"),
        ("items = 'a'", 'items: only format = "json" takes this'),
        ("id_from = 'header:X-Id'", "id_from: want 'body:JSON.PATH' into an item"),
        ("time_from = 'text:now'", "time_from: want 'body:JSON.PATH'"),
        ("kind_from = 'body:a b'", "kind_from: want 'body:JSON.PATH'"),
        ("facts = ['a b']", "facts: want JSON paths into an item"),
        ("first_run = 'some'", "first_run: want nothing | all | 1 to 1000"),
        ("first_run = true", "first_run: want nothing | all | 1 to 1000"),
        ("edits = 'both'", "edits: want ignore | accept"),
        ("max_items = 0", "max_items: want 1 to 1000, got 0"),
        ("authorization = 'digest'", "authorization: want bearer | basic | header:"),
        ("authorization = 'header:Host'", "authorization: the poller itself sets"),
        ("secret_name = 'x'", "secret_name: nothing is secret here"),
        ("max_item = 3", "max_item: unknown key; did you mean 'max_items'?"),
        ("signature_header = 'X'", "signature_header: unknown key"),
    ],
)
def test_each_wrong_key_is_told(keys: str, problem: str) -> None:
    base = RSS if "url" not in keys else 'sender = "feed"\nformat = "rss"\n'

    (found,) = problems(of_feed(keys, base))

    where, _, told = found.partition("sources.news")
    assert where == "fleet.toml: "
    assert told.lstrip(".: ").startswith(problem)


def test_all_that_is_wrong_with_feeds_is_told_at_once() -> None:
    text = """
[sources.cron]
sender = "feed"
[sources.a-1]
sender = "feed"
format = "atom"
[sources.a1]
sender = "feed"
format = "rss"
authorization = "bearer"
secret_name = "bellhop/github"
"""

    found = [each.partition("sources.")[2] for each in problems(HELLO + text)]

    assert found == [
        "cron: 'cron' is built in; want another name",
        "cron.format: want json | rss (RSS, RDF and Atom)",
        "a-1.format: want json | rss, got 'atom'",
        "a1.url: the secret holds what proves us, so it cannot hold the address, too;"
        " want the address here",
        "a1.secret_name: 'bellhop/github' is the secret of source 'github' too;"
        " want one secret per source",
        "a1: is spelled like feed 'a-1' in the stack; want another name",
    ]


@pytest.mark.parametrize(
    ("keys", "on", "warned"),
    [
        ("", '{ source = "news", kind = "item" }', []),
        ("", '{ source = "news", kind = "it*", facts = { title = "x" } }', []),
        ("kind_from = 'body:type'", '{ source = "news", kind = "x" }', []),
        ("", EITHER, []),
        (
            "",
            '{ source = "github", kind = "item" }',
            [": no agent listens to it; what it publishes would be unheard"],
        ),
        (
            "edits = 'accept'",
            '{ source = "news", kind = "items" }',
            [
                ".kind_from: no agent listens to the kind 'item' of it",
                ".edits: no agent listens to the kind 'item.edited' of it",
            ],
        ),
        (
            "cron = '0 6 1 1 ? 2020'",
            '{ source = "news", kind = "item" }',
            [".cron: it has been looked at for the last time"],
        ),
    ],
)
def test_what_would_come_to_nothing_is_warned_of(
    keys: str, on: str, warned: list[str]
) -> None:
    agent = f'[agents.reader]\nrun = "agents.hello:run"\non = [{on}]\neverything = true'
    fleet = parse(f"[sources.github]\n{agent}\n[sources.news]\n{RSS}{keys}")

    told = lint(fleet, datetime(2026, 11, 29, 12, tzinfo=UTC))

    assert told == [f"fleet.toml: sources.news{text}" for text in warned]
