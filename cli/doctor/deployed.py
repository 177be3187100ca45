"""What was deployed, by its own template, and how to ask what is there now."""

from __future__ import annotations

import functools
import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from botocore.exceptions import BotoCoreError, ClientError

from cli.target import Target


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """Something that is not as it must be, and what mends it."""

    check: str
    what: str
    mend: str


class Missing(Exception):
    """A resource of the stack is gone."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Resource:
    """One resource of the template, with its physical id."""

    logical: str
    type: str
    physical: str
    properties: Mapping[str, Any]

    @property
    def short(self) -> str:
        """Its name in the template without the hash, for people."""
        return self.logical.rstrip("0123456789ABCDEF") or self.logical


@dataclass(frozen=True)
class Deployed:
    """A stack's template and its physical ids."""

    target: Target

    @functools.cached_property
    def stack_name(self) -> str:
        """The stack's name in CloudFormation; the local one has the default."""
        return "Bellhop" if self.target.is_local else self.target.name

    @functools.cached_property
    def stack(self) -> Mapping[str, Any]:
        """What CloudFormation says of the stack."""
        (found,) = self._formation.describe_stacks(StackName=self.stack_name)["Stacks"]
        return dict(found)

    @functools.cached_property
    def template(self) -> Mapping[str, Any]:
        """The template as it was deployed."""
        body = self._formation.get_template(StackName=self.stack_name)["TemplateBody"]
        return dict(json.loads(body) if isinstance(body, str) else body)

    @functools.cached_property
    def ids(self) -> Mapping[str, str]:
        """Physical ids by logical id."""
        pages = self._formation.get_paginator("list_stack_resources").paginate(
            StackName=self.stack_name
        )
        return {
            r["LogicalResourceId"]: r["PhysicalResourceId"]
            for page in pages
            for r in page["StackResourceSummaries"]
            if "PhysicalResourceId" in r
        }

    def of(self, kind: str) -> Iterator[Resource]:
        """Yield the resources of a type (``SQS::Queue``)."""
        for logical, body in self.template["Resources"].items():
            if body["Type"] == f"AWS::{kind}":
                yield Resource(
                    logical=logical,
                    type=kind,
                    physical=self.ids.get(logical, ""),
                    properties=body.get("Properties", {}),
                )

    def client(self, service: str) -> Any:
        """Return a client of the stack's account."""
        return self.target.client(service)

    def name_of(self, value: Any) -> str | None:
        """Return the physical id that a reference leads to; text as it is."""
        if isinstance(value, str):
            return value
        if isinstance(value, dict):
            if "Ref" in value:
                return self.ids.get(value["Ref"])
            if "Fn::GetAtt" in value:
                return self.ids.get(value["Fn::GetAtt"][0])
        return None

    def leads_to(self, value: Any, found: str | None) -> bool:
        """Whether ``found`` (an arn, a URL, a name) is what ``value`` refers to."""
        name = self.name_of(value)
        if name is None:
            return True  # nothing to compare with
        return found is not None and last(name) == last(found)

    @property
    def _formation(self) -> Any:
        return self.target.client("cloudformation")


def last(name: str) -> str:
    """Return the last part of an arn, a URL or a path: the thing's own name."""
    return name.removesuffix(":$LATEST").rpartition("/")[2].rpartition(":")[2]


def asked(call: Callable[[], Any], *absent: str) -> Any:
    """Return what ``call`` returns.

    Raises:
        Missing: AWS answers one of ``absent``, or that there is no such thing.
    """
    try:
        return call()
    except ClientError as error:
        code = error.response["Error"].get("Code", "")
        if code in absent or any(
            word in code for word in ("NotFound", "NoSuch", "NonExistent", "404")
        ):
            raise Missing(code) from error
        raise


def looked(
    check: str, each: Callable[[], Iterator[Finding]], mend: str
) -> Iterator[Finding]:
    """Yield the findings of one check; one that cannot be made is a finding."""
    try:
        yield from each()
    except (ClientError, BotoCoreError) as error:
        yield Finding(
            check=check,
            what=f"could not be looked at: {' '.join(str(error).split())}",
            mend=mend,
        )
