"""Every captured signed request, on a socket, against the deployed HTTP API."""

from __future__ import annotations

import base64
import json
import zlib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import pytest

from local import up
from local.home import Home
from local.stack import LocalStack
from tests import real_data
from tests.e2e import captured
from tests.e2e.captured import Doorway, Doorways, Heard, Vector

pytestmark = pytest.mark.real_data

_STORES = ("dynamodb.", "s3.")


@dataclass(frozen=True, slots=True)
class Judged:
    """A vector, the door it was brought to, and what was heard there."""

    vector: Vector
    source: str
    heard: Heard
    writes: int

    @property
    def is_ours(self) -> bool:
        """Whether the secret itself is bad, which is our fault."""
        return not self.vector["secret"] and self.vector["secret_format"] == "utf8"

    @property
    def is_right(self) -> bool:
        """Whether the verdict on the signature is the known one."""
        if self.is_ours:
            return self.heard.status == 500
        if self.vector["valid"]:
            return self.heard.status < 500 and self.heard.status != 401
        return self.heard.status in (400, 401)

    @property
    def outcome(self) -> str:
        """One word for the table."""
        if self.heard.event_ids:
            return "accepted"
        if self.heard.status < 300:
            return "answered"
        return {400: "malformed", 401: "refused"}.get(self.heard.status, "our fault")


@dataclass(frozen=True, slots=True)
class Run:
    """All of it: verdicts, answered handshakes, and what was left out and why."""

    stack: LocalStack
    judged: list[Judged]
    handshakes: Sequence[tuple[Mapping[str, Any], Heard]]
    left_out: Counter[str]


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Run]:
    if real_data.ROOT is None:
        pytest.skip(real_data.WHY_ABSENT)
    doorways, left_out = Doorways(), Counter[str]()
    pairs: list[tuple[Vector, Doorway]] = []
    for vector in real_data.vectors():
        doorway = doorways.of(vector)
        if isinstance(doorway, str):
            left_out[f"{vector['sender']}: {doorway}"] += 1
        else:
            pairs.append((vector, doorway))
    greetings = [
        (case, doorway)
        for case in real_data.handshakes()
        if case["request"]["body_b64"]
        or case["request"]["url"].count("?")
        or case["request"]["method"] == "GET"
        for doorway in [doorways.of(as_vector(case))]
        if isinstance(doorway, Doorway)
    ]
    folder = tmp_path_factory.mktemp("vectors")
    fleet = folder / "fleet.toml"
    fleet.write_text(captured.fleet(doorways.found.values()), encoding="utf-8")
    with up.running(Home(folder / "local"), fleet=fleet) as stack:
        secrets = stack.client("secretsmanager")
        # A sender that publishes its key has no secret of ours.
        guarded = (d for d in doorways.found.values() if d.name in stack.secrets)
        for doorway in guarded:
            secrets.put_secret_value(
                SecretId=stack.secrets[doorway.name], SecretString=doorway.secret
            )
        judged = [bring(stack, vector, doorway) for vector, doorway in pairs]
        stack.set_clock()
        greeted = [(c, greet(stack, c["request"], door)) for c, door in greetings]
        yield Run(stack, judged, greeted, left_out)


def as_vector(case: Mapping[str, Any]) -> Vector:
    """Return what a handshake's source must hold, in the words of a vector."""
    secret = case["config"].get("secret", "unused")
    return {**case["config"], "sender": case["sender"], "scheme": "", "secret": secret}


def bring(stack: LocalStack, vector: Vector, doorway: Doorway) -> Judged:
    stack.set_clock(captured.judged_at(vector).isoformat())
    captured.publish(stack, vector)
    since = stack.wire.mark()
    heard = captured.send(
        stack,
        doorway.name,
        method=vector["method"],
        query=(vector["url"] or "").partition("?")[2],
        headers=vector["headers"],
        content=captured.body(vector),
    )
    real_data.used("vectors")
    calls = stack.wire.counts(since, stack.functions["receiver"])
    writes = sum(n for call, n in calls.items() if call.startswith(_STORES))
    return Judged(vector, doorway.name, heard, writes)


def greet(stack: LocalStack, asked: Mapping[str, Any], doorway: Doorway) -> Heard:
    return captured.send(
        stack,
        doorway.name,
        method=asked["method"],
        query=asked["url"].partition("?")[2],
        headers=asked["headers"],
        content=base64.b64decode(asked["body_b64"] or ""),
    )


def test_every_captured_request_gets_its_verdict(
    run: Run, capsys: pytest.CaptureFixture[str]
) -> None:
    wrong = [
        (j.vector["id"], j.heard.status, j.heard.body[:80], j.vector["reason"])
        for j in run.judged
        if not j.is_right
    ]

    with capsys.disabled():
        print(f"\n{table(run)}")
    assert wrong == []
    assert len(run.judged) >= 230
    assert all("public_url" in why or "https://" in why for why in run.left_out)


def test_what_was_accepted_is_written_down_whole_and_nothing_else(run: Run) -> None:
    """Handshakes and refusals leave no row; a repeat leaves no second one."""
    # Some captured requests share an id: what came first is kept.
    accepted = {i: j for j in reversed(run.judged) for i in j.heard.event_ids}

    for event_id, judged in accepted.items():
        row = run.stack.rows(event_id)["event"]
        assert (row["source"], row["via"]) == (judged.source, "door")
        assert event_id.startswith(f"{judged.source}:")
        sent = captured.body(judged.vector)
        if sent and captured.is_one_event(judged.vector):  # else a query is all
            assert zlib.decompress(bytes(row["body"])) == sent, judged.vector["id"]
    further = written(run.stack) - set(accepted)
    assert {event_id.partition(":")[0] for event_id in further} <= silent(run)
    assert len(further) <= sum(j.outcome == "answered" for j in run.judged)
    assert len(accepted) >= 20


def test_acceptance_costs_a_write_per_event_and_a_refusal_none(run: Run) -> None:
    refused = [j for j in run.judged if j.heard.status >= 400]
    accepted = [j for j in run.judged if j.heard.event_ids]

    assert {j.writes for j in refused} == {0}
    assert all(j.writes == len(j.heard.event_ids) for j in accepted)


def test_answers_to_forgers_say_nothing(run: Run) -> None:
    refused = {j.heard.body for j in run.judged if j.heard.status == 401}

    assert refused <= {b'{"error":"bad_signature"}', b'{"error":"stale"}'}


def test_handshakes_are_answered_as_their_senders_want(run: Run) -> None:
    assert len(run.handshakes) >= 5
    for case, heard in run.handshakes:
        wanted = case["expected"]
        if case["sender"] in ("slack", "discord"):
            # Both sign it; to answer a stranger would help to take the address over.
            assert heard.status == 401, case["id"]
            continue
        assert heard.status == wanted["status"], (case["id"], heard)
        assert heard.body.decode() == wanted.get("body", heard.body.decode())
        if "json" in wanted:
            assert json.loads(heard.body) == wanted["json"]
        if "content_type" in wanted:
            assert heard.headers["content-type"].startswith(wanted["content_type"])


def written(stack: LocalStack) -> set[str]:
    """Return the id of every event in the ledger."""
    pages = (
        stack.client("dynamodb")
        .get_paginator("scan")
        .paginate(
            TableName=stack.ledger_table,
            FilterExpression="sk = :event",
            ExpressionAttributeValues={":event": {"S": "event"}},
            ConsistentRead=True,
        )
    )
    return {row["pk"]["S"] for page in pages for row in page["Items"]}


def silent(run: Run) -> set[str]:
    """Return the sources whose sender is told of success without an event's id."""
    return {j.source for j in run.judged if j.outcome == "answered"}


def table(run: Run) -> str:
    """Return the counts by sender, and what no fleet can hold."""
    words = ("accepted", "answered", "malformed", "refused", "our fault")
    rows: dict[str, Counter[str]] = {}
    for judged in run.judged:
        rows.setdefault(judged.vector["sender"], Counter())[judged.outcome] += 1
    lines = [f"{'sender':<24}" + "".join(f"{word:>11}" for word in words)]
    for sender, counts in sorted(rows.items()):
        lines.append(f"{sender:<24}" + "".join(f"{counts[w] or '':>11}" for w in words))
    total = sum(rows.values(), Counter[str]())
    lines.append(f"{'in all':<24}" + "".join(f"{total[w]:>11}" for w in words))
    left = [f"left out, {n}: {why}" for why, n in sorted(run.left_out.items())]
    at = datetime.now(UTC).date()
    lines.append(
        f"{len(run.judged)} vectors over HTTP, {len(run.handshakes)} handshakes, {at}"
    )
    return "\n".join([*lines, *left])
