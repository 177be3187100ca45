"""The poller as Lambda calls it: AWS is moto, the feed's site is on this machine."""

from __future__ import annotations

import gzip
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import boto3
import pytest
from moto import mock_aws

from lambdas.poller import handler, site
from lambdas.shared.adapters import aws, dynamodb
from lambdas.shared.ledger import TableLedger
from lambdas.shared.settings import PollerSettings
from tests.fakes.feeds import document, item, numbered, rss
from tests.fakes.moto_ledger import BUCKET, TABLE, make_bucket, make_table

FLEET = """
[sources.news]
sender = "feed"
format = "rss"
url = "https://feeds.example/news?from=us"
first_run = "all"

[sources.orders]
sender = "feed"
format = "json"
url = "https://shop.example/orders"
authorization = "bearer"
items = "data"
first_run = "all"
kind_from = "body:type"
"""
NEWS = "/feeds.example/news?from=us"
ORDERS = "/shop.example/orders"


@dataclass
class Page:
    """What lies at a path: whatever is not said is left out of the answer."""

    body: bytes = b""
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    drip_seconds: float = 0
    promised: int | None = None


class Site:
    """Serves ``pages`` by path; anything else is 404."""

    def __init__(self) -> None:
        self.pages: dict[str, Page] = {}
        self.asked: list[tuple[str, dict[str, str]]] = []
        site = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                told = {name.lower(): value for name, value in self.headers.items()}
                site.asked.append((self.path, told))
                page = site.pages.get(self.path, Page(status=404))
                etag = page.headers.get("ETag")
                if etag and told.get("if-none-match") == etag:
                    page = Page(status=304, headers=page.headers)
                self.send_response(page.status)
                length = len(page.body) if page.promised is None else page.promised
                self.send_header("Content-Length", str(length))
                for name, value in page.headers.items():
                    self.send_header(name, value)
                self.end_headers()
                try:
                    self._send(page)
                except (BrokenPipeError, ConnectionResetError):
                    self.close_connection = True

            def _send(self, page: Page) -> None:
                if not page.drip_seconds:
                    self.wfile.write(page.body)
                    return
                for at in range(len(page.body)):
                    self.wfile.write(page.body[at : at + 1])
                    time.sleep(page.drip_seconds)

            def log_message(self, *_: Any) -> None: ...

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        threading.Thread(target=self.server.serve_forever, daemon=True).start()


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Site]:
    """The sites, beside a stack whose poller reads them."""
    site = Site()
    fleet = tmp_path / "fleet.toml"
    fleet.write_text(FLEET, encoding="utf-8")
    settings = PollerSettings(ledger_table=TABLE, payload_bucket=BUCKET)
    variables = {
        **settings.to_env(),
        "BELLHOP_FLEET": str(fleet),
        "BELLHOP_WORLD_URL": f"http://127.0.0.1:{site.server.server_port}",
    }
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    handler._poller.cache_clear()
    aws.client.cache_clear()
    with mock_aws():
        make_table()
        make_bucket()
        boto3.client("secretsmanager").create_secret(
            Name="bellhop/orders", SecretString="the-key"
        )
        yield site
    handler._poller.cache_clear()
    aws.client.cache_clear()
    site.server.shutdown()
    site.server.server_close()


def handle(source: str) -> dict[str, Any]:
    context: Any = SimpleNamespace(
        function_name="poller",
        memory_limit_in_mb=1024,
        invoked_function_arn="arn:aws:lambda:eu-central-1:123456789012:function:poller",
        aws_request_id="1",
    )
    return handler.handle({"source": source}, context)


def ledger() -> TableLedger:
    settings: Any = SimpleNamespace(ledger_table=TABLE, payload_bucket=BUCKET)
    return dynamodb.ledger(settings, ledger_days=45)


def test_new_items_become_events_and_what_has_not_changed_is_not_sent_again(
    world: Site, capsys: pytest.CaptureFixture[str]
) -> None:
    page = Page(rss(*numbered(3)), headers={"ETag": '"one"'})
    world.pages[NEWS] = page

    first, second = handle("news"), handle("news")
    page.body, page.headers = rss(*numbered(4)), {"ETag": '"two"'}
    third = handle("news")

    assert [said["accepted"] for said in (first, second, third)] == [3, 0, 1]
    assert [said["state"] for said in (first, second, third)] == [
        *("read", "unchanged", "read")
    ]
    assert [told.get("if-none-match") for _, told in world.asked] == [
        *(None, '"one"', '"one"')
    ]
    assert {told["user-agent"] for _, told in world.asked} == {"bellhop"}
    event = ledger().event("news:i4")
    assert event is not None
    assert (event.source, event.kind) == ("news", "item")
    assert event.payload["title"] == "About i4"
    assert event.facts == {"title": "About i4"}
    emitted = capsys.readouterr().out
    assert emitted.count('"EventsAccepted":[1.0]') == 4
    assert emitted.count('"FeedRead":[1.0]') == 3


def test_orders_of_a_shop_are_read_with_its_key(world: Site) -> None:
    orders = [{"id": 8, "type": "order.paid"}, {"id": 7, "type": "order.placed"}]
    body = document(*orders).replace(b'"items"', b'"data"')
    packed = Page(gzip.compress(body), headers={"Content-Encoding": "gzip"})
    world.pages[ORDERS] = packed

    assert handle("orders")["accepted"] == 2

    ((_, told),) = world.asked
    assert told["authorization"] == "Bearer the-key"
    event = ledger().event("orders:8")
    assert event is not None
    assert (event.kind, event.payload) == ("order.paid", orders[0])


def test_what_is_wrong_with_one_feed_costs_the_other_nothing(
    world: Site, capsys: pytest.CaptureFixture[str]
) -> None:
    world.pages[NEWS] = Page(b"<html>sign in</html>")
    world.pages[ORDERS] = Page(b'{"data": []}')

    assert handle("news")["state"].startswith("not obeyed: it is a page")
    assert handle("orders")["state"] == "read"
    assert '"FeedRefused":[1.0]' in capsys.readouterr().out


@pytest.mark.parametrize(
    ("page", "why"),
    [
        (Page(bytes(50_000_000)), "answered more than 10000000 bytes"),
        (Page(gzip.compress(bytes(50_000_000))), "more than 10000000 bytes once"),
        (Page(rss(), promised=10_000), "promised 10000 bytes and sent"),
        (Page(rss(*numbered(9)), drip_seconds=0.1), "took too long"),
        (
            Page(status=301, headers={"Location": "http://10.0.0.1/"}),
            "nobody may follow",
        ),
        (Page(status=410), "the feed is gone for good"),
    ],
    ids=["50 MB", "bomb", "cut off", "drip", "redirect", "gone"],
)
def test_worst_sites_are_survived(
    world: Site, page: Page, why: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(site, "TIMEOUT_SECONDS", 3.0)
    world.pages[NEWS] = page

    assert why in handle("news")["state"]

    world.pages[NEWS] = Page(rss(item("a")))
    if page.status != 410:
        assert handle("news")["accepted"] == 1


def test_large_item_lies_in_the_bucket_until_it_is_asked_for(world: Site) -> None:
    noise = "".join(f"{n:x}" for n in range(150_000))
    world.pages[NEWS] = Page(rss(item("a", description=noise)))

    assert handle("news")["accepted"] == 1

    listed = boto3.client("s3").list_objects_v2(Bucket=BUCKET)["Contents"]
    assert [each["Key"].partition("/")[0] for each in listed] == ["events"]
    event = ledger().event("news:a")
    assert event is not None
    assert event.payload["summary"] == noise
