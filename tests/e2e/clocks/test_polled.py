"""The page on feeds, followed on the local stack: from a feed to the agent at work."""

from __future__ import annotations

import json
import os
import re
import shlex
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from local import up
from local.home import ROOT, Home
from local.stack import LocalStack, wait_for
from tests.e2e.pages import follow, write

PAGE = (ROOT / "docs/howto/poll-a-feed.md").read_text(encoding="utf-8")
_COMMANDS = re.compile(r"^( *)```sh\n(.*?)\n\s*```", re.S | re.M)
FEED = "https://github.com/aws/aws-cdk/releases.atom"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What the page writes, each file where it says; the agents are the fleet's own."""
    folder = tmp_path_factory.mktemp("polled")
    names = write(folder, PAGE)
    (folder / ".venv").symlink_to(sys.prefix)
    assert names == ["agents/release_watch.py", "fleet.toml"]
    return folder


# Beside the page's: a feed whose edited items are events, too large for a row.
EDITED = """
[sources.edited]
sender = "feed"
format = "rss"
edits = "accept"
first_run = "all"
url = "https://edited.example/feed.atom"
"""


@pytest.fixture(scope="module")
def commands() -> list[str]:
    return [textwrap.dedent(block) for _, block in _COMMANDS.findall(PAGE)]


@pytest.fixture(scope="module")
def stack(folder: Path) -> Iterator[LocalStack]:
    with (folder / "fleet.toml").open("a", encoding="utf-8") as fleet:
        fleet.write(EDITED)
    with up.running(Home(folder / ".local"), fleet=folder / "fleet.toml") as running:
        yield running


def test_page_shows_beforehand_what_would_be_accepted(
    folder: Path, commands: list[str]
) -> None:
    said = follow(folder, commands[0])

    assert "nothing would be accepted" in said
    assert "passed over: 1, there before the feed was known" in said


def test_item_that_is_new_reaches_the_agent_once(
    folder: Path, commands: list[str], stack: LocalStack
) -> None:
    said = follow(folder, commands[1])

    assert "passed" in said
    assert "cdk-releases:tag:v2" in said  # the dry run shows it
    assert wait_for(lambda: told(stack))
    follow(folder, "bellhop clock advance 61m; bellhop poll cdk-releases")
    assert told(stack) == [({"title": "v2", "link": "https://example.com/v2"}, 1)]
    story = follow(folder, "bellhop show cdk-releases:tag:v2")
    assert "SUCCEEDED" in story
    # By the schedule, twice, and by the command line.
    assert len(stack.effects("releases.atom")) >= 4


def test_feed_that_fails_harms_nobody_and_goes_on_later(
    folder: Path, stack: LocalStack
) -> None:
    stack.behave(FEED, status=503, retry_after=60)
    refused = "bellhop poll cdk-releases || test $? -eq 1"
    assert "answered 503" in follow(folder, refused)

    stack.behave(FEED)
    assert "not yet" in follow(folder, "bellhop poll cdk-releases")


def test_edit_of_an_item_that_a_look_died_of_is_accepted(stack: LocalStack) -> None:
    """With the rights of the poller: it compares with the event that it knows."""

    def publish(title: str) -> None:
        entry = f"<entry><id>a</id><title>{title}</title></entry>"
        feed = f"<feed xmlns='http://www.w3.org/2005/Atom'>{entry}</feed>"
        stack.serve("https://edited.example/feed.atom", feed)

    def look() -> dict[str, Any]:
        answer = stack.client("lambda").invoke(
            FunctionName=stack.functions["poller"],
            Payload=json.dumps({"source": "edited"}).encode(),
        )
        told: dict[str, Any] = json.loads(answer["Payload"].read())
        return told

    text = os.urandom(30_000).hex()  # hardly shrinks: it does not fit the row
    publish(text)
    look()
    assert "body_ref" in stack.rows("edited:a")["event"]
    # As if it had been stopped before it could remember.
    stack.client("dynamodb").delete_item(
        TableName=stack.ledger_table,
        Key={"pk": {"S": "cursor#edited"}, "sk": {"S": "cursor"}},
    )
    publish(f"{text} anew")

    said = look()

    assert (said["accepted"], said["duplicates"]) == (1, 1)


def test_doctor_finds_nothing_and_the_door_no_source(
    folder: Path, stack: LocalStack
) -> None:
    said = follow(folder, "bellhop clock set real; bellhop doctor")
    assert "all well" in said
    door = shlex.quote(f"{stack.api_url}/webhooks/cdk-releases")
    knock = f"curl -s -o /dev/null -w '%{{http_code}}' -d x {door}"
    assert follow(folder, knock) == "404"


def told(stack: LocalStack) -> list[tuple[object, int]]:
    """Return what the team was told, each as often."""
    return [
        (effect["body"], effect["count"]) for effect in stack.effects("team.example")
    ]
