"""Whether agents at work leave concurrency for the door."""

from __future__ import annotations

from collections.abc import Iterator

from cli.doctor.deployed import Deployed, Finding

# What the door and our other functions take in a burst.
_NEEDED = 20
# Lambda keeps as many unreserved, and refuses a reservation that would not.
_ALWAYS_UNRESERVED = 100


def look(deployed: Deployed) -> Iterator[Finding]:
    """Compare what all agents may take at once with what the account has."""
    limit = deployed.client("lambda").get_account_settings()["AccountLimit"]
    total = int(limit["ConcurrentExecutions"])
    free = int(limit["UnreservedConcurrentExecutions"])
    fleet = deployed.target.fleet
    called = [agent for agent in fleet.agents.values() if not agent.polls]
    taken = sum(agent.max_concurrency for agent in called)
    if fleet.reserved_receivers or taken + _NEEDED <= free:
        return
    reserve = total - free + _NEEDED + _ALWAYS_UNRESERVED <= total
    choice = f", or [fleet] reserved_receivers = {_NEEDED}" if reserve else ""
    yield Finding(
        check="concurrency",
        what=f"agents may take {taken} of the account's {free} concurrent executions;"
        " while they do, senders are answered 503",
        mend="ask for a higher Lambda quota, or lower max_concurrency of agents"
        f"{choice}",
    )
