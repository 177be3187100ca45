"""All dead letters of a stack, read by the operator as the digest reads them."""

from __future__ import annotations

from cli.output import CliError, UsageError
from cli.quiet import quiet
from cli.replaying.places import Places
from cli.target import Target
from lambdas.dlq_digest.digest import Reader
from lambdas.dlq_digest.reconcile import Reconciler
from lambdas.dlq_digest.report import Group, Links, Report
from lambdas.shared.adapters.lambda_logs import LambdaLogs


def report(target: Target) -> Report:
    """Read every failure queue; runs that died without a word get their reason."""
    logs = LambdaLogs(lambda: target.client("logs"))
    reader = Reader(
        agents=target.fleet.agents,
        table=target.table,
        reconciler=Reconciler(target.table, logs, target.now),
        boxes=Places(target).boxes(),
        clock=target.now,
    )
    with quiet():
        return reader.report()


def links(target: Target) -> Links:
    """Return how groups of this stack are redriven."""
    places = Places(target)
    urls = {name: places.dead_letters(name).url for name in places.agents()}
    region = target.session.region_name or "us-east-1"
    return Links(stack=target.name, region=region, queue_urls=urls)


def find(found: Report, word: str, agent: str | None) -> Group:
    """Return the group whose id begins with ``word``.

    Raises:
        CliError: there is none.
        UsageError: there are several.
    """
    groups = [
        group
        for group in found.groups
        if group.fingerprint.startswith(word) and agent in {None, group.agent}
    ]
    if not groups:
        raise CliError(f"no group {word!r} among the dead letters; see dead list --all")
    if len(groups) > 1:
        both = ", ".join(f"{g.fingerprint} --agent {g.agent}" for g in groups)
        raise UsageError(f"which of them: {both}")
    return groups[0]
