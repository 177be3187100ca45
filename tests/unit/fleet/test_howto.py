"""The tables that the how-to pages show can be deployed."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from lambdas.shared import senders
from lambdas.shared.fleet import DEFAULT_BUS, Fleet, parse

HOWTO = Path(__file__).resolve().parents[3] / "docs/howto"


def shown(page: str) -> Fleet:
    text = (HOWTO / page).read_text(encoding="utf-8")
    blocks = re.findall(r"^```toml\n(.*?)^```$", text, re.M | re.S)
    assert blocks
    return parse("\n".join(blocks), find_traits=senders.traits)


def test_source_without_code_says_everything_in_its_table() -> None:
    fleet = shown("add-a-source-without-code.md")

    source = fleet.sources["roastery"]
    assert source.generic is not None
    assert source.generic.signed == "{id}.{timestamp}.{body}"
    assert source.facts == ("order.total", "header:X-Roastery-Region")
    assert list(fleet.agents) == ["stock"]


def test_feeds_of_a_shop_and_of_a_partner_can_be_deployed() -> None:
    fleet = shown("poll-a-feed.md")

    assert list(fleet.feeds) == ["shop-orders", "partner-news"]
    assert fleet.feeds["shop-orders"].items == "data.orders"
    assert fleet.feeds["partner-news"].secret
    assert len(fleet.agents["clerk"].on) == 2


def test_agents_hear_aws_and_a_partner_on_their_buses() -> None:
    fleet = shown("hear-aws-events.md")

    assert {each.bus for each in fleet.agents["incident-responder"].on} == {DEFAULT_BUS}
    (partner,) = fleet.agents["watcher"].on
    assert partner.bus.startswith("aws.partner/")


@pytest.mark.parametrize(
    "table",
    [
        'algorithm = "sha1"\nsigned = "{body}{timestamp}"\n'
        'timestamp_header = "Date"\nsignature_header = "X-Sign"',
        'algorithm = "token"\nsignature_header = "Authorization"\nprefix = "Bearer "',
        'algorithm = "basic"',
    ],
    ids=["body and date", "token", "basic"],
)
def test_each_way_to_prove_oneself_fits_in_a_table(table: str) -> None:
    text = f'[sources.door]\nsender = "generic"\nidentity = "body"\n{table}\n'

    assert parse(text, find_traits=senders.traits).sources["door"].generic is not None
