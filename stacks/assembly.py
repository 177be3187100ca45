"""From a fleet to the cloud assembly that is deployed."""

from __future__ import annotations

from pathlib import Path

from aws_cdk import App, Validations
from cdk_nag import AwsSolutionsChecks

from lambdas.shared import senders
from lambdas.shared.fleet import Fleet
from stacks.code import Assets
from stacks.fleet_stack import FleetStack


def synthesise(fleet: Fleet, *, fleet_path: Path, outdir: Path) -> None:
    """Write the assembly of ``fleet``, read from ``fleet_path``, to ``outdir``.

    Raises:
        Misconfigured: the fleet does not fit one stack, or nothing is built to ship.
        RuntimeError: cdk-nag found something; CDK has printed what.
    """
    app = App(
        outdir=str(outdir),
        # Its metadata resource would be the only one that knows of regions.
        analytics_reporting=False,
        # Said here and not in cdk.json, which only the command line reads.
        context={"@aws-cdk/aws-iam:minimizePolicies": True},
    )
    FleetStack(
        app,
        "Bellhop",
        fleet=fleet,
        traits={
            name: senders.traits(source.sender, source)
            for name, source in fleet.sources.items()
        },
        assets=Assets(fleet_path),
        description="Bellhop: carries work that arrives to AI agents",
    )
    Validations.of(app).add_plugins(AwsSolutionsChecks(app))
    app.synth()
