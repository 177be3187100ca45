"""A synthesized template, read back as resources, roles and who refers to whom."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Resource:
    """One resource; ``body`` is all of it, ``of`` a property or None."""

    id: str
    body: dict[str, Any]

    @property
    def type(self) -> str:
        """CloudFormation's word for what it is."""
        return str(self.body["Type"])

    def of(self, path: str) -> Any:
        """Return the property at ``path`` (``DefaultRouteSettings.Throttle``)."""
        value: Any = self.body.get("Properties", {})
        for part in path.split("."):
            if not isinstance(value, dict):
                return None
            value = value.get(part)
        return value


@dataclass(frozen=True, slots=True)
class Statement:
    """One policy statement; arns, principals and conditions as :func:`shown`."""

    effect: str
    actions: tuple[str, ...]
    resources: tuple[str, ...]
    principals: tuple[str, ...]
    conditions: dict[str, tuple[str, ...]]

    @classmethod
    def read(cls, body: dict[str, Any]) -> Statement:
        """Read a statement as CloudFormation spells it."""
        principal = body.get("Principal", {})
        principals = principal.values() if isinstance(principal, dict) else [principal]
        return cls(
            effect=body["Effect"],
            actions=_each(body.get("Action")),
            resources=_each(body.get("Resource")),
            principals=tuple(one for value in principals for one in _each(value)),
            conditions={
                key: _each(value)
                for operands in body.get("Condition", {}).values()
                for key, value in operands.items()
            },
        )


class Template:
    """A whole template; :meth:`sabotaged` returns a copy that may be broken."""

    def __init__(self, body: dict[str, Any]) -> None:
        """Read ``body``, the JSON of the template."""
        self.body = body

    def __getitem__(self, id: str) -> Resource:
        """Return the resource of that logical id."""
        return Resource(id, self.body["Resources"][id])

    def all(self, type: str) -> list[Resource]:
        """Return the resources of ``type`` (``SQS::Queue``)."""
        return [each for each in self.resources() if each.type == f"AWS::{type}"]

    def resources(self) -> Iterator[Resource]:
        """Yield every resource."""
        for name, body in self.body["Resources"].items():
            yield Resource(name, body)

    def only(self, type: str) -> Resource:
        """Return the one resource of ``type``."""
        (found,) = self.all(type)
        return found

    def outputs(self) -> dict[str, str]:
        """Return the outputs, each as :func:`shown`."""
        return {
            name: shown(body["Value"])
            for name, body in self.body.get("Outputs", {}).items()
        }

    def granted(self, role_id: str) -> list[Statement]:
        """Return what a role may do."""
        return [
            Statement.read(statement)
            for policy in self.all("IAM::Policy")
            if role_id in [referred(role) for role in policy.of("Roles") or []]
            for statement in policy.of("PolicyDocument.Statement")
            if statement["Effect"] == "Allow"
        ]

    def denied(self, role_id: str) -> list[Statement]:
        """Return what a role may not do, whatever else lets it."""
        return [
            Statement.read(statement)
            for policy in self.all("IAM::Policy")
            if role_id in [referred(role) for role in policy.of("Roles") or []]
            for statement in policy.of("PolicyDocument.Statement")
            if statement["Effect"] == "Deny"
        ]

    def doings(self, role_id: str, service: str = "") -> set[str]:
        """Return the actions of ``service`` (``dynamodb:``) that a role may do."""
        return {
            action
            for statement in self.granted(role_id)
            for action in statement.actions
            if action.startswith(service)
        }

    def things(self, role_id: str, action: str) -> set[str]:
        """Return what a role may do ``action`` to."""
        return {
            resource
            for statement in self.granted(role_id)
            if action in statement.actions
            for resource in statement.resources
        }

    def may(self, role_id: str, action: str, resource: str) -> bool:
        """Say whether a role may do ``action`` to ``resource``."""
        return resource in self.things(role_id, action)

    def role_of(self, function_id: str) -> str:
        """Return the logical id of a function's role."""
        return referred(self[function_id].of("Role"))

    def function(self, handler: str) -> Resource:
        """Return the only function of ``lambdas.<handler>``."""
        (found,) = self.functions(handler)
        return found

    def functions(self, handler: str) -> list[Resource]:
        """Return the functions of ``lambdas.<handler>``."""
        wanted = f"lambdas.{handler}.handler.handle"
        return [e for e in self.all("Lambda::Function") if e.of("Handler") == wanted]

    def policy_of(self, queue_id: str) -> list[Statement]:
        """Return a queue's own policy."""
        return [
            Statement.read(statement)
            for policy in self.all("SQS::QueuePolicy")
            if queue_id in [referred(queue) for queue in policy.of("Queues")]
            for statement in policy.of("PolicyDocument.Statement")
        ]

    def key_policy(self) -> list[Statement]:
        """Return the policy of the only key."""
        statements = self.only("KMS::Key").of("KeyPolicy.Statement")
        return [Statement.read(statement) for statement in statements]

    def mappings(self, *, streams: bool) -> list[Resource]:
        """Return the event source mappings of queues, or of streams."""
        return [
            each
            for each in self.all("Lambda::EventSourceMapping")
            if (each.of("StartingPosition") is not None) == streams
        ]

    def containers(self) -> dict[str, dict[str, Any]]:
        """Return the only container of each task, by the task's id."""
        found = {}
        for task in self.all("ECS::TaskDefinition"):
            (found[task.id],) = task.of("ContainerDefinitions")
        return found

    def worked_queues(self) -> list[Resource]:
        """Return the queues that workers take from: a function's, or a container's."""
        queues = [
            referred(mapping.of("EventSourceArn"))
            for mapping in self.mappings(streams=False)
        ]
        for container in self.containers().values():
            named = {each["Name"]: each["Value"] for each in container["Environment"]}
            queues.append(referred(named["QUEUE_URL"]))
        return [self[queue] for queue in queues]

    def copy(self) -> Template:
        """Return a template of one's own to break."""
        return Template(copy.deepcopy(self.body))


def referred(value: Any) -> str:
    """Return the first logical id that ``value`` speaks of; "" where none."""
    if isinstance(value, dict):
        if "Ref" in value:
            return str(value["Ref"])
        if "Fn::GetAtt" in value:
            return str(value["Fn::GetAtt"][0])
        value = list(value.values())
    if isinstance(value, list):
        return next(filter(None, map(referred, value)), "")
    return ""


def shown(value: Any) -> str:
    """Return ``value`` as one text, references as ``${Id}`` or ``${Id.Attribute}``."""
    if isinstance(value, dict):
        if "Ref" in value:
            return f"${{{value['Ref']}}}"
        if "Fn::GetAtt" in value:
            return f"${{{'.'.join(value['Fn::GetAtt'])}}}"
        if "Fn::Join" in value:
            glue, parts = value["Fn::Join"]
            return str(glue).join(shown(part) for part in parts)
        if isinstance(value.get("Fn::Sub"), str):
            return str(value["Fn::Sub"])
        raise AssertionError(f"cannot show {value!r}")
    return str(value)


def _each(value: Any) -> tuple[str, ...]:
    if value is None:
        return ()
    values = value if isinstance(value, list) else [value]
    return tuple(shown(each) for each in values)
