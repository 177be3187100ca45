"""Workers that poll: their services, as they were deployed and free to scale."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from cli.doctor.deployed import Deployed, Finding, Missing, Resource, asked, last

_CHECK = "containers"
_DEPLOY = "deploy again: cdk deploy"
_AGAIN = "remove its agent from fleet.toml, deploy, add it again and deploy"


def look(deployed: Deployed) -> Iterator[Finding]:
    """Compare every service, and what scales it, with its template."""
    for service in deployed.of("ECS::Service"):
        yield from _service(deployed, service)
    for target in deployed.of("ApplicationAutoScaling::ScalableTarget"):
        yield from _scaling(deployed, target)


def _service(deployed: Deployed, service: Resource) -> Iterator[Finding]:
    cluster, name = deployed.name_of(service.properties["Cluster"]), service.physical
    try:
        answer = asked(
            lambda: deployed.client("ecs").describe_services(
                cluster=cluster, services=[name]
            )
        )
    except Missing:
        answer = {}
    found = next(iter(answer.get("services", [])), None)
    if found is None or found["status"] != "ACTIVE":
        yield Finding(
            check=_CHECK, what=f"the service {last(name)} is gone", mend=_AGAIN
        )
        return
    wanted = deployed.name_of(service.properties["TaskDefinition"])
    if wanted is not None and last(found["taskDefinition"]) != last(wanted):
        # What the circuit breaker does with an image that does not start.
        yield Finding(
            check=_CHECK,
            what=f"{last(name)} runs {last(found['taskDefinition'])}, deployed was"
            f" {last(wanted)}",
            mend=_DEPLOY,
        )
    for each in found.get("deployments", []):
        if each.get("rolloutState") == "FAILED":
            yield Finding(
                check=_CHECK,
                what=f"{last(name)}: {each.get('rolloutStateReason', 'no reason')}",
                mend="see the agent's log, then deploy again: cdk deploy",
            )
    if found["desiredCount"] > 0 and found["runningCount"] == 0:
        told: list[Mapping[str, str]] = found.get("events", [])
        event = told[0]["message"] if told else "no event"
        yield Finding(
            check=_CHECK,
            what=f"{last(name)} wants {found['desiredCount']} and runs none: {event}",
            mend="wait a few minutes; then see docs/runbooks/worker-absent.md",
        )


def _scaling(deployed: Deployed, target: Resource) -> Iterator[Finding]:
    # Its physical id is service/CLUSTER/NAME|ecs:service:DesiredCount|ecs.
    name = target.physical.partition("|")[0]
    answer = deployed.client("application-autoscaling").describe_scalable_targets(
        ServiceNamespace="ecs", ResourceIds=[name]
    )
    found = next(iter(answer["ScalableTargets"]), None)
    if found is None:
        yield Finding(
            check=_CHECK, what=f"nothing scales {last(name)} any more", mend=_AGAIN
        )
        return
    yield from _suspended(name, found)
    wanted = target.properties["MaxCapacity"]
    if found["MaxCapacity"] != wanted:
        yield Finding(
            check=_CHECK,
            what=f"{last(name)} has at most {found['MaxCapacity']} containers,"
            f" deployed were {wanted}",
            mend=_DEPLOY,
        )


def _suspended(name: str, found: Mapping[str, Any]) -> Iterator[Finding]:
    off = [what for what, is_off in found.get("SuspendedState", {}).items() if is_off]
    if off:
        yield Finding(
            check=_CHECK,
            what=f"the scaling of {last(name)} is suspended:"
            f" {', '.join(each.removesuffix('Suspended') for each in sorted(off))}",
            mend="aws application-autoscaling register-scalable-target"
            " --service-namespace ecs --scalable-dimension ecs:service:DesiredCount"
            f" --resource-id {name} --suspended-state"
            " DynamicScalingInSuspended=false,DynamicScalingOutSuspended=false,"
            "ScheduledScalingSuspended=false",
        )
