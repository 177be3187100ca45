"""The event's id is the trace: every part says what it decided about it."""

from __future__ import annotations

import json
import re

from local.demo import post
from local.demo.telling import is_done
from local.stack import LocalStack, wait_for
from tests.e2e.seen_and_safe.conftest import Logs

# What Lambda itself writes between our lines.
_OF_LAMBDA = re.compile(r"^(START|END|REPORT|INIT_START|RequestId:|Task timed out)")


def told(lines: list[str], event_id: str) -> dict[str, list[str]]:
    """Return the messages about an event, by the function that wrote them."""
    found: dict[str, list[str]] = {}
    for line in lines:
        if event_id in line and line.startswith("{"):
            entry = json.loads(line)
            # Without a context, as in the receiver's, the place tells.
            found.setdefault(entry.get("function_name", "Receiver"), []).append(
                entry["message"]
            )
    return found


def test_one_search_for_its_id_tells_the_way_of_an_event(
    seen: LocalStack, logs: Logs
) -> None:
    answer = post.send(seen, "slack", post.signed(seen, "slack", "app_mention"))
    event_id = str(answer.event_id)
    assert wait_for(lambda: is_done(seen, event_id, "counter"))
    again = post.send(
        seen, "github", post.signed(seen, "github", "pull_request.opened")
    )
    unheard = str(again.event_id)
    assert wait_for(lambda: "unheard" in seen.rows(unheard))

    lines = logs.read()
    way, other = told(lines, event_id), told(lines, unheard)

    assert ["event accepted"] in way.values()
    assert ["events relayed"] in way.values()
    assert any(messages[-1:] == ["run succeeded"] for messages in way.values())
    assert any("event unheard" in messages for messages in other.values())


def test_every_line_of_ours_is_json_with_a_level_and_a_constant_message(
    seen: LocalStack, logs: Logs
) -> None:
    lines = [
        line
        for line in logs.read()
        if line.strip() and not _OF_LAMBDA.match(line) and '"_aws"' not in line
    ]
    entries = [json.loads(line) for line in lines if line.startswith("{")]

    assert len(entries) > 5
    assert all({"level", "message", "timestamp"} <= entry.keys() for entry in entries)
    messages = {entry["message"] for entry in entries}
    # Constant words: an id or a number in them would make each its own.
    assert [m for m in messages if re.search(r"\d|[A-Z]{2}", m)] == []
