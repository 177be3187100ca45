"""What stands around the resources: account, region, the stack, the clock."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

from cli.doctor.deployed import Deployed, Finding
from lambdas.shared.clock import rfc3339
from lambdas.shared.fleet import logical_name

# A signed time may be off by 5 minutes at most senders; AWS refuses more, too.
_MOST_SKEW_SECONDS = 60


def look(deployed: Deployed) -> Iterator[Finding]:
    """Look at where we are, at the stack as a whole, and at the clocks."""
    yield from _place(deployed)
    yield from _stack(deployed)
    yield from _agents(deployed)
    yield from _clock(deployed)


def _place(deployed: Deployed) -> Iterator[Finding]:
    target = deployed.target
    pinned, region = target.fleet.region, target.session.region_name
    if pinned and region != pinned and not target.is_local:
        yield Finding(
            check="region",
            what=f"fleet.toml pins {pinned}, this is {region}",
            mend=f"--region {pinned}",
        )
    identity = target.client("sts").get_caller_identity()
    parts = str(deployed.stack["StackId"]).split(":")
    if len(parts) > 4 and parts[4] and identity["Account"] != parts[4]:
        yield Finding(
            check="account",
            what=f"you are in account {identity['Account']}, the stack in {parts[4]}",
            mend="--profile with the account of the stack",
        )


def _stack(deployed: Deployed) -> Iterator[Finding]:
    status = str(deployed.stack["StackStatus"])
    is_whole = status.endswith("_COMPLETE") and "ROLLBACK" not in status
    if not is_whole:
        yield Finding(
            check="stack",
            what=f"the stack {deployed.stack_name} is {status}",
            mend="look at its events in CloudFormation, then deploy again",
        )


def _agents(deployed: Deployed) -> Iterator[Finding]:
    outputs, agents = deployed.target.outputs, deployed.target.fleet.agents
    there = {name for name in outputs if name.startswith("Queue")}
    wanted = {f"Queue{logical_name(name)}": name for name in agents}
    for output, name in wanted.items():
        if output not in there:
            yield Finding(
                check="stack",
                what=f"agent {name} is in fleet.toml and not deployed",
                mend="cdk deploy",
            )
    for output in sorted(there - wanted.keys()):
        yield Finding(
            check="stack",
            what=f"an agent is deployed that fleet.toml does not name ({output})",
            mend="take the fleet.toml that was deployed, or cdk deploy",
        )


def _clock(deployed: Deployed) -> Iterator[Finding]:
    answer = deployed.target.client("sts").get_caller_identity()
    told = answer["ResponseMetadata"]["HTTPHeaders"].get("date")
    if told:
        skew = (datetime.now(UTC) - parsedate_to_datetime(told)).total_seconds()
        if abs(skew) > _MOST_SKEW_SECONDS:
            yield Finding(
                check="clock",
                what=f"this machine's clock is {skew:+.0f} s off: signatures will fail",
                mend="set the clock (NTP)",
            )
    moved = (deployed.target.now() - datetime.now(UTC)).total_seconds()
    if deployed.target.is_local and abs(moved) > _MOST_SKEW_SECONDS:
        yield Finding(
            check="clock",
            what=f"the local stack's clock was moved to"
            f" {rfc3339(deployed.target.now())}",
            mend="bellhop clock set real",
        )
