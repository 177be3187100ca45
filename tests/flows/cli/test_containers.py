"""`bellhop doctor` on workers that poll: what ECS has, beside what was deployed."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import pytest

from cli.doctor import containers
from cli.doctor.deployed import Deployed, Resource

ARN = "arn:aws:ecs:eu-central-1:123456789012"
SERVICE = f"{ARN}:service/cluster/digger"
TASK = f"{ARN}:task-definition/digger:7"
NAME = "service/cluster/digger"


def service(**changed: Any) -> dict[str, Any]:
    """A service that is well, but for what is said."""
    well = {
        "status": "ACTIVE",
        "taskDefinition": TASK,
        "desiredCount": 2,
        "runningCount": 1,
        "deployments": [{"rolloutState": "COMPLETED"}],
        "events": [{"message": "has started 1 tasks"}],
    }
    return {**well, **changed}


def target(**changed: Any) -> dict[str, Any]:
    """A scalable target that is well, but for what is said."""
    return {"MinCapacity": 0, "MaxCapacity": 10, "SuspendedState": {}, **changed}


def found(services: list[dict[str, Any]], targets: list[dict[str, Any]]) -> list[str]:
    """What is said where AWS answers so."""
    ids = {"Cluster": "cluster", "Task": TASK}
    resources = {
        "ECS::Service": Resource(
            logical="Service",
            type="ECS::Service",
            physical=SERVICE,
            properties={
                "Cluster": {"Ref": "Cluster"},
                "TaskDefinition": {"Ref": "Task"},
            },
        ),
        "ApplicationAutoScaling::ScalableTarget": Resource(
            logical="Target",
            type="ApplicationAutoScaling::ScalableTarget",
            physical=f"{NAME}|ecs:service:DesiredCount|ecs",
            properties={"MaxCapacity": 10},
        ),
    }

    def describe_services(*, cluster: str, services: list[str]) -> dict[str, Any]:
        assert (cluster, services) == ("cluster", [SERVICE])
        return {"services": answers}

    def describe_targets(**asked: Any) -> dict[str, Any]:
        assert asked == {"ServiceNamespace": "ecs", "ResourceIds": [NAME]}
        return {"ScalableTargets": targets}

    answers = services
    clients = {
        "ecs": SimpleNamespace(describe_services=describe_services),
        "application-autoscaling": SimpleNamespace(
            describe_scalable_targets=describe_targets
        ),
    }
    deployed = SimpleNamespace(
        client=clients.__getitem__,
        of=lambda kind: iter([resources[kind]]),
        name_of=lambda value: ids[value["Ref"]],
    )
    return [
        f"{each.what} -> {each.mend}"
        for each in containers.look(cast("Deployed", deployed))
    ]


def test_what_runs_as_it_was_deployed_is_silence() -> None:
    assert found([service()], [target()]) == []


def test_none_at_all_is_how_it_rests() -> None:
    assert found([service(desiredCount=0, runningCount=0)], [target()]) == []


@pytest.mark.parametrize(
    ("services", "targets", "said"),
    [
        ([], [target()], "the service digger is gone"),
        ([service(status="INACTIVE")], [target()], "the service digger is gone"),
        (
            [service(taskDefinition=TASK.replace(":7", ":6"))],
            [target()],
            "digger runs 6, deployed was 7",
        ),
        (
            [
                service(
                    deployments=[
                        {
                            "rolloutState": "FAILED",
                            "rolloutStateReason": "tasks failed to start",
                        }
                    ]
                )
            ],
            [target()],
            "digger: tasks failed to start -> see the agent's log",
        ),
        (
            [
                service(
                    runningCount=0, events=[{"message": "unable to place: capacity"}]
                )
            ],
            [target()],
            "digger wants 2 and runs none: unable to place: capacity",
        ),
        ([service()], [], "nothing scales digger any more"),
        (
            [service()],
            [target(MaxCapacity=3)],
            "digger has at most 3 containers, deployed were 10",
        ),
        (
            [service()],
            [target(SuspendedState={"DynamicScalingOutSuspended": True})],
            "the scaling of digger is suspended: DynamicScalingOut -> aws"
            " application-autoscaling register-scalable-target",
        ),
    ],
)
def test_each_thing_that_is_amiss_is_said_with_its_mend(
    services: list[dict[str, Any]], targets: list[dict[str, Any]], said: str
) -> None:
    (finding,) = found(services, targets)

    assert said in finding
    assert " -> " in finding
