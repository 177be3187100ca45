"""Deploys the synthesized template to the local engine, unchanged in meaning.

What is changed, and nothing else (each deviation is told to the caller):

* our functions' assets are built for this machine's interpreter;
* resource types that the engine refuses are left out;
* what runs containers is left out, with the alarms of it: see ``local/workers.py``;
* where the engine judges policies, statements that deny plain HTTP are left
  out, because the engine on the loopback speaks nothing else;
* ``Ref`` on a secret means its ARN in AWS; the engine would give its name.
"""

from __future__ import annotations

import copy
import io
import json
import time
import zipfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from local.home import LocalError
from local.mend import mend
from stacks import packaging

Client = Any
Resources = dict[str, dict[str, Any]]

# The engine refuses these ("Unrecognized resource types"), and alarms over an
# expression; the dashboard names every alarm.
_REFUSED = {
    "AWS::CloudWatch::CompositeAlarm",
    "AWS::CloudWatch::Dashboard",
    "AWS::CDK::Metadata",
}

_NONE = "is left out: the engine has none"
_INSTEAD = {
    "AWS::CloudWatch::CompositeAlarm": "is made by API, over the alarms that are there"
}

# The engine would start containers of its own, if there were Docker; local/workers.py
# starts processes.
_CONTAINERS = (
    "AWS::ApplicationAutoScaling::",
    "AWS::EC2::",
    "AWS::ECS::",
)

_ACCOUNT = "000000000000"


@dataclass(frozen=True, slots=True, kw_only=True)
class Deployed:
    """A deployed stack: outputs, physical ids by logical id, what was changed."""

    name: str
    outputs: Mapping[str, str]
    ids: Mapping[str, str]
    template: Mapping[str, Any]
    deviations: tuple[str, ...]

    def of_type(self, kind: str) -> Iterator[tuple[str, dict[str, Any]]]:
        """Yield logical id and properties of every resource of a type."""
        for logical, resource in self.template["Resources"].items():
            if resource["Type"] == kind:
                yield logical, resource.get("Properties", {})


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """The engine to deploy to; ``client`` makes a boto3 client of a service."""

    client: Any
    endpoint: str
    region: str
    is_judging: bool


def deploy(assembly: Path, fleet: Path, target: Target) -> Deployed:
    """Deploy the one stack of a cloud assembly.

    Raises:
        LocalError: the engine refused it; its reasons are in the message.
    """
    name = _stack_name(assembly)
    template = json.loads((assembly / f"{name}.template.json").read_text())
    bucket = _upload_assets(assembly, name, fleet, target)
    adapted, deviations = adapt(template, is_judging=target.is_judging)
    _create(name, adapted, bucket, target)

    formation = target.client("cloudformation")
    described = formation.describe_stacks(StackName=name)["Stacks"][0]
    pages = formation.get_paginator("list_stack_resources").paginate(StackName=name)
    deployed = Deployed(
        name=name,
        outputs={o["OutputKey"]: o["OutputValue"] for o in described["Outputs"]},
        ids={
            r["LogicalResourceId"]: r["PhysicalResourceId"]
            for page in pages
            for r in page["StackResourceSummaries"]
        },
        template=template,
        deviations=tuple(deviations),
    )
    mend(deployed, target)
    return deployed


def adapt(
    template: Mapping[str, Any], *, is_judging: bool
) -> tuple[dict[str, Any], list[str]]:
    """Return the template as the engine takes it, and what was changed."""
    adapted = copy.deepcopy(dict(template))
    resources: Resources = adapted["Resources"]
    deviations = _drop_containers(adapted)
    resources = adapted["Resources"]
    deviations += _drop_refused(resources)
    secrets = {
        name
        for name, resource in resources.items()
        if resource["Type"] == "AWS::SecretsManager::Secret"
    }
    adapted = _with_secret_arns(adapted, secrets)
    if is_judging and (dropped := _drop_tls_denials(adapted["Resources"])):
        deviations.append(
            f"{dropped} statements that deny plain HTTP are left out:"
            " the engine speaks nothing else"
        )
    return adapted, deviations


def _drop_containers(template: dict[str, Any]) -> list[str]:
    """Leave out what runs containers, and the alarms that scale and watch them."""
    resources: Resources = template["Resources"]
    gone = {n for n, r in resources.items() if r["Type"].startswith(_CONTAINERS)}
    if not gone:
        return []
    gone |= {n for n, r in resources.items() if _is_alarm_of(r, gone)}
    kept = {name: r for name, r in resources.items() if name not in gone}
    _forget(kept, gone)
    # A policy or an output may name one of them still: nothing is called so.
    template["Resources"] = _without(kept, gone)
    template["Outputs"] = _without(template.get("Outputs", {}), gone)
    return [
        "what runs containers (ECS, EC2, Application Auto Scaling) and the alarms of it"
        ' are left out: each agent with compute = "fargate" has one process instead'
    ]


def _is_alarm_of(resource: Mapping[str, Any], gone: set[str]) -> bool:
    is_alarm = resource["Type"] == "AWS::CloudWatch::Alarm"
    return is_alarm and not gone.isdisjoint(_named(resource["Properties"]))


def _named(value: Any) -> Iterator[str]:
    """Yield the logical ids that a part of a template refers to."""
    if isinstance(value, dict):
        if "Ref" in value:
            yield str(value["Ref"])
        if "Fn::GetAtt" in value:
            yield str(value["Fn::GetAtt"][0])
        for each in value.values():
            yield from _named(each)
    elif isinstance(value, list):
        for each in value:
            yield from _named(each)


def _without(value: Any, gone: set[str]) -> Any:
    if isinstance(value, dict):
        if len(value) == 1 and not gone.isdisjoint(_named(value)):
            (word,) = value
            if word in {"Ref", "Fn::GetAtt"}:
                return "left-out"
        return {k: _without(v, gone) for k, v in value.items()}
    if isinstance(value, list):
        return [_without(v, gone) for v in value]
    return value


def _drop_refused(resources: Resources) -> list[str]:
    gone = {name for name, r in resources.items() if _is_refused(r)}
    kinds = sorted({_kind(resources.pop(name)) for name in gone})
    _forget(resources, gone)
    return [f"{kind} {_INSTEAD.get(kind, _NONE)}" for kind in kinds]


def _forget(resources: Resources, gone: set[str]) -> None:
    """Let nothing wait for what is left out."""
    for resource in resources.values():
        needs = resource.get("DependsOn")
        if isinstance(needs, list):
            resource["DependsOn"] = [name for name in needs if name not in gone]
        elif needs in gone:
            del resource["DependsOn"]


def _is_refused(resource: Mapping[str, Any]) -> bool:
    return resource["Type"] in _REFUSED or _kind(resource) != resource["Type"]


def _kind(resource: Mapping[str, Any]) -> str:
    kind: str = resource["Type"]
    watches_expression = "Metrics" in resource.get("Properties", {})
    is_alarm = kind == "AWS::CloudWatch::Alarm"
    return f"{kind} over an expression" if is_alarm and watches_expression else kind


def _with_secret_arns(value: Any, secrets: set[str]) -> Any:
    if isinstance(value, dict):
        if set(value) == {"Ref"} and value["Ref"] in secrets:
            return {"Fn::GetAtt": [value["Ref"], "Id"]}
        return {k: _with_secret_arns(v, secrets) for k, v in value.items()}
    if isinstance(value, list):
        return [_with_secret_arns(v, secrets) for v in value]
    return value


def _drop_tls_denials(resources: Resources) -> int:
    dropped = 0
    emptied = []
    for name, resource in resources.items():
        document = resource.get("Properties", {}).get("PolicyDocument")
        if not document:
            continue
        kept = [s for s in document["Statement"] if not _denies_plain_http(s)]
        dropped += len(document["Statement"]) - len(kept)
        document["Statement"] = kept
        if not kept:
            emptied.append(name)
    for name in emptied:
        del resources[name]
    return dropped


def _denies_plain_http(statement: Mapping[str, Any]) -> bool:
    condition = statement.get("Condition", {}).get("Bool", {})
    wanted = {"aws:SecureTransport": "false"}
    return bool(statement["Effect"] == "Deny" and condition == wanted)


def _stack_name(assembly: Path) -> str:
    manifest = json.loads((assembly / "manifest.json").read_text())
    names: list[str] = [
        name
        for name, artifact in manifest["artifacts"].items()
        if artifact["type"] == "aws:cloudformation:stack"
    ]
    if len(names) != 1:
        raise LocalError(f"want one stack in the assembly, got {names}")
    return names[0]


def _upload_assets(assembly: Path, stack: str, fleet: Path, target: Target) -> str:
    """Put every asset where the template looks for it; returns the bucket."""
    s3 = target.client("s3")
    files = json.loads((assembly / f"{stack}.assets.json").read_text())["files"]
    bucket = f"cdk-hnb659fds-assets-{_ACCOUNT}-{target.region}"
    s3.create_bucket(Bucket=bucket)
    for asset in files.values():
        source = assembly / asset["source"]["path"]
        if asset["source"]["packaging"] == "zip":
            body = _zipped(_for_this_machine(source, fleet))
        else:
            body = source.read_bytes()
        for destination in asset["destinations"].values():
            s3.put_object(Bucket=bucket, Key=destination["objectKey"], Body=body)
    # What `cdk bootstrap` leaves, and the template asks for.
    target.client("ssm").put_parameter(
        Name="/cdk-bootstrap/hnb659fds/version", Value="30", Type="String"
    )
    return bucket


def _for_this_machine(asset: Path, fleet: Path) -> Path:
    """Return the twin of our asset for this machine; another's as it is."""
    if not (asset / "lambdas").is_dir():
        return asset
    there = {path.name for path in asset.iterdir()}
    sets = ["agents"] if "agents" in there else []
    if "tzdata" in there:
        sets.append("zones")
    if "icalendar" in there:
        sets.append("calendars")
    if "defusedxml" in there:
        sets.append("feeds")
    senders = {path.name for path in packaging.installed("senders").iterdir()}
    if senders <= there:
        sets.append("senders")
    return packaging.stage(sets, fleet, local=True)


def _zipped(folder: Path) -> bytes:
    buffer = io.BytesIO()
    # Hardly compressed: the engine unpacks it again a second later.
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        for path in sorted(folder.rglob("*")):
            if path.is_file():
                archive.write(path, path.relative_to(folder))
    return buffer.getvalue()


def _create(
    name: str, template: Mapping[str, Any], bucket: str, target: Target
) -> None:
    formation = target.client("cloudformation")
    key = f"{name}.template.json"
    target.client("s3").put_object(
        Bucket=bucket, Key=key, Body=json.dumps(template).encode()
    )
    formation.create_stack(
        StackName=name,
        TemplateURL=f"{target.endpoint}/{bucket}/{key}",
        Capabilities=["CAPABILITY_NAMED_IAM"],
    )
    while True:
        stack = formation.describe_stacks(StackName=name)["Stacks"][0]
        status = stack["StackStatus"]
        if status == "CREATE_COMPLETE":
            return
        if not status.endswith("IN_PROGRESS") or "ROLLBACK" in status:
            reasons = _reasons(formation, name) or [
                stack.get("StackStatusReason", status)
            ]
            raise LocalError(
                "the engine refused the template:\n  " + "\n  ".join(reasons)
            )
        time.sleep(0.1)


def _reasons(formation: Client, name: str) -> list[str]:
    events = formation.describe_stack_events(StackName=name)["StackEvents"]
    return [
        f"{event['LogicalResourceId']} ({event['ResourceType']}):"
        f" {event.get('ResourceStatusReason', 'no reason given')}"
        for event in events
        if "FAILED" in event.get("ResourceStatus", "")
    ]
