"""Senders without a module, described by the fleet file alone, over HTTP."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import time
import uuid
from typing import Any

import pytest

from local.demo.telling import is_done
from local.stack import LocalStack, wait_for
from tests.e2e.captured import Heard, send

PASSWORD = "barista:a long and secret word"


def knock(
    stack: LocalStack, source: str, body: bytes, headers: dict[str, str]
) -> Heard:
    return send(
        stack,
        source,
        method="POST",
        query="",
        headers={"Content-Type": "application/json", **headers},
        content=body,
    )


def order(total: float = 12.5) -> bytes:
    said = {"shop": "acme", "order": {"state": "paid", "total": total}}
    return json.dumps(said, indent=1).encode()


def of_hatch(
    stack: LocalStack, body: bytes, *, late: int = 0, **changes: str
) -> dict[str, str]:
    """Return the headers of a sender that signs id, time and body as one."""
    delivery, sent_at = uuid.uuid4().hex, str(int(time.time()) - late)
    signed = f"{delivery}.{sent_at}.".encode() + body
    proof = hmac.new(stack.secret("hatch").encode(), signed, hashlib.sha512).digest()
    return {
        "X-Signature": f"v1={base64.b64encode(proof).decode()}",
        "X-Sent-At": sent_at,
        "X-Delivery": delivery,
        "X-Shop-Region": "eu",
        **changes,
    }


def test_signed_event_says_id_kind_tenant_and_facts_where_the_table_says(
    whole_door: LocalStack,
) -> None:
    body = order()
    headers = of_hatch(whole_door, body)

    heard, again = (knock(whole_door, "hatch", body, headers) for _ in range(2))

    event_id = f"hatch:{headers['X-Delivery']}"
    assert heard.event_ids == [event_id]
    assert json.loads(again.body)["deduplicated"] is True
    row = whole_door.rows(event_id)["event"]
    assert (row["kind"], row["tenant"]) == ("paid", "acme")
    assert json.loads(row["facts"]) == {"order.total": 12.5, "x-shop-region": "eu"}
    # The agent's pattern matches on both facts.
    assert wait_for(lambda: is_done(whole_door, event_id, "weigher"))


def test_event_whose_facts_do_not_match_is_unheard(whole_door: LocalStack) -> None:
    body = order(total=3)
    heard = knock(whole_door, "hatch", body, of_hatch(whole_door, body))

    (event_id,) = heard.event_ids
    assert wait_for(lambda: "unheard" in whole_door.rows(event_id))


@pytest.mark.parametrize(
    ("changes", "error"),
    [
        ({"late": 400}, "stale"),
        ({"late": -400}, "stale"),
        ({"X-Sent-At": "1700000000"}, "bad_signature"),
        ({"X-Sent-At": "soon"}, None),
        ({"X-Delivery": "another"}, "bad_signature"),
        ({"X-Signature": "v1=AAAA"}, "bad_signature"),
        ({"X-Signature": "v2=AAAA"}, "bad_signature"),
    ],
    ids=str,
)
def test_what_was_changed_or_is_late_is_refused(
    whole_door: LocalStack, changes: dict[str, Any], error: str | None
) -> None:
    body = order()
    headers = of_hatch(whole_door, body, **changes)

    heard = knock(whole_door, "hatch", body, headers)

    assert heard.status in (400, 401), heard
    if error is not None:
        assert json.loads(heard.body) == {"error": error}
    assert whole_door.rows(f"hatch:{headers['X-Delivery']}") == {}


def test_static_token_opens_the_slot(whole_door: LocalStack) -> None:
    delivery = uuid.uuid4().hex
    body = json.dumps({"id": delivery}).encode()
    token = whole_door.secret("slot")

    refused = [
        knock(whole_door, "slot", body, {"Authorization": value}).status
        for value in (token, f"Bearer {token}x", "Bearer", "")
    ]
    heard = knock(whole_door, "slot", body, {"Authorization": f"Bearer {token}"})

    assert set(refused) <= {400, 401}
    assert heard.event_ids == [f"slot:{delivery}"]
    assert wait_for(lambda: is_done(whole_door, f"slot:{delivery}", "weigher"))


def test_basic_opens_the_flap_and_identical_bodies_are_one_event(
    whole_door: LocalStack,
) -> None:
    whole_door.client("secretsmanager").put_secret_value(
        SecretId=whole_door.secrets["flap"], SecretString=PASSWORD
    )
    body = uuid.uuid4().hex.encode()
    good, bad = (
        {"Authorization": "Basic " + base64.b64encode(text.encode()).decode()}
        for text in (PASSWORD, "barista:guess")
    )

    refused = knock(whole_door, "flap", body, bad)
    answers = [json.loads(knock(whole_door, "flap", body, good).body) for _ in range(2)]

    assert refused.status == 401
    event_id = f"flap:body-{hashlib.sha256(body).hexdigest()}"
    assert [answer["event_id"] for answer in answers] == [event_id] * 2
    assert [answer["deduplicated"] for answer in answers] == [False, True]
    assert wait_for(lambda: is_done(whole_door, event_id, "weigher"))
