"""The parts of a worker that polls, found in a template by its agent."""

from __future__ import annotations

from typing import Any

from tests.infra.template import Resource, Template, referred

#: Those of the fleet in which workers poll.
AGENTS = ("digger", "night-shift", "researcher")


def variables(container: dict[str, Any]) -> dict[str, Any]:
    return {each["Name"]: each["Value"] for each in container["Environment"]}


def task_of(template: Template, agent: str) -> Resource:
    (found,) = [
        template[task]
        for task, container in template.containers().items()
        if variables(container)["AGENT_NAME"] == agent
    ]
    return found


def container_of(template: Template, agent: str) -> dict[str, Any]:
    return template.containers()[task_of(template, agent).id]


def service_of(template: Template, agent: str) -> Resource:
    task = task_of(template, agent).id
    (found,) = [
        each
        for each in template.all("ECS::Service")
        if referred(each.of("TaskDefinition")) == task
    ]
    return found


def queue_of(template: Template, agent: str) -> Resource:
    return template[referred(variables(container_of(template, agent))["QUEUE_URL"])]


def role_of(template: Template, agent: str) -> str:
    return referred(task_of(template, agent).of("TaskRoleArn"))
