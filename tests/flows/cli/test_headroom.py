"""`bellhop doctor` says when agents at work would leave nothing for the door."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import pytest

from cli.doctor import headroom
from cli.doctor.deployed import Deployed
from lambdas.shared.fleet import parse

FLEET = """
[sources.github]
{fleet}
[agents.busy]
run = "agents.hello:run"
on = [{{ source = "github", kind = "issues.opened" }}]
max_concurrency = {most}
"""


def found(*, most: int, total: int, free: int, fleet: str = "") -> list[str]:
    """What is said of an account with these limits."""
    limits = {"ConcurrentExecutions": total, "UnreservedConcurrentExecutions": free}

    def client(_: str) -> Any:
        return SimpleNamespace(get_account_settings=lambda: {"AccountLimit": limits})

    target = SimpleNamespace(fleet=parse(FLEET.format(most=most, fleet=fleet)))
    deployed = cast("Deployed", SimpleNamespace(client=client, target=target))
    return [f"{each.what} -> {each.mend}" for each in headroom.look(deployed)]


def test_a_small_account_is_told_before_senders_notice() -> None:
    (said,) = found(most=10, total=10, free=10)

    assert "may take 10 of the account's 10" in said
    # Lambda would refuse the deployment: it keeps 100 unreserved.
    assert "reserved_receivers" not in said


def test_a_large_account_is_told_of_the_choice() -> None:
    (said,) = found(most=1000, total=1000, free=1000)

    assert "reserved_receivers = 20" in said


@pytest.mark.parametrize(
    ("most", "fleet"), [(10, ""), (990, "[fleet]\nreserved_receivers = 20")]
)
def test_room_enough_or_a_share_of_its_own_is_silence(most: int, fleet: str) -> None:
    assert found(most=most, total=1000, free=1000, fleet=fleet) == []


def test_containers_take_nothing_of_it() -> None:
    """Those of an agent that polls are no executions of Lambda."""
    polls = FLEET + 'compute = "fargate"\n'
    limits = {"ConcurrentExecutions": 1000, "UnreservedConcurrentExecutions": 1000}
    target = SimpleNamespace(fleet=parse(polls.format(most=1000, fleet="")))

    def client(_: str) -> Any:
        return SimpleNamespace(get_account_settings=lambda: {"AccountLimit": limits})

    deployed = cast("Deployed", SimpleNamespace(client=client, target=target))
    assert list(headroom.look(deployed)) == []
