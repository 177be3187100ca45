"""Functions and what feeds them: able to run, as they were deployed, switched on."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from cli.doctor.deployed import Deployed, Finding, Missing, Resource, asked, last

_DEPLOY = "deploy again: cdk deploy"
# What switches a guard off, or belongs to the local stack alone.
_FOREIGN = ("POWERTOOLS_IDEMPOTENCY_DISABLED",)
_LOCAL = "BELLHOP_"


def look(deployed: Deployed) -> Iterator[Finding]:
    """Compare every function, mapping and destination with its template."""
    for function in deployed.of("Lambda::Function"):
        yield from _function(deployed, function)
    for mapping in deployed.of("Lambda::EventSourceMapping"):
        yield from _mapping(deployed, mapping)
    for config in deployed.of("Lambda::EventInvokeConfig"):
        yield from _destination(deployed, config)


def _function(deployed: Deployed, function: Resource) -> Iterator[Finding]:
    client, name = deployed.client("lambda"), last(function.physical)
    try:
        found = asked(lambda: client.get_function_configuration(FunctionName=name))
    except Missing:
        yield Finding(
            check="functions",
            what=f"the function {name} is gone",
            mend="remove its agent from fleet.toml, deploy, add it again and deploy",
        )
        return
    for key, unit in (("Timeout", " s"), ("MemorySize", " MB"), ("Handler", "")):
        wanted = function.properties.get(key)
        if wanted is not None and found.get(key) != wanted:
            yield Finding(
                check="functions",
                what=f"{name}: {key} is {found.get(key)}{unit}, deployed with"
                f" {wanted}{unit}",
                mend=_DEPLOY,
            )
    if found.get("State") not in {None, "Active", "Inactive"}:
        yield Finding(
            check="functions",
            what=f"{name} is {found['State']}: {found.get('StateReason', 'no reason')}",
            mend=_DEPLOY,
        )
    yield from _variables(function, name, found)
    if not deployed.leads_to(function.properties.get("Role"), found.get("Role")):
        yield Finding(
            check="permissions",
            what=f"{name} acts as another role: {last(found['Role'])}",
            mend=_DEPLOY,
        )
    yield from _throttled(client, name, function)


def _variables(
    function: Resource, name: str, found: Mapping[str, Any]
) -> Iterator[Finding]:
    wanted = function.properties.get("Environment", {}).get("Variables", {})
    there = found.get("Environment", {}).get("Variables", {})
    for variable, value in wanted.items():
        if variable not in there:
            yield Finding(
                check="functions", what=f"{name} lacks {variable}", mend=_DEPLOY
            )
        elif isinstance(value, str) and there[variable] != value:
            yield Finding(
                check="functions",
                what=f"{name}: {variable} is not as it was deployed",
                mend=_DEPLOY,
            )
    for variable in there:
        is_foreign = variable in _FOREIGN or variable.startswith(_LOCAL)
        if is_foreign and variable not in wanted:
            yield Finding(
                check="functions",
                what=f"{name} has {variable}: it switches a guard off",
                mend=f"remove the variable from {name}, or {_DEPLOY}",
            )


def _throttled(client: Any, name: str, function: Resource) -> Iterator[Finding]:
    try:
        answer = asked(lambda: client.get_function_concurrency(FunctionName=name))
    except Missing:
        return
    reserved = answer.get("ReservedConcurrentExecutions")
    wanted = function.properties.get("ReservedConcurrentExecutions")
    if reserved == wanted:
        return
    if reserved == 0:
        what = f"{name} is throttled to nothing: no call of it begins"
    else:
        what = (
            f"{name} has {reserved} concurrent calls reserved, deployed with {wanted}"
        )
    yield Finding(
        check="functions",
        what=what,
        mend=f"aws lambda delete-function-concurrency --function-name {name}",
    )


def _mapping(deployed: Deployed, mapping: Resource) -> Iterator[Finding]:
    client = deployed.client("lambda")
    of = last(deployed.name_of(mapping.properties["FunctionName"]) or "?")
    uuid = mapping.physical
    try:
        found = asked(lambda: client.get_event_source_mapping(UUID=uuid))
    except Missing:
        yield Finding(
            check="functions",
            what=f"nothing feeds {of}: its mapping is gone",
            mend=_DEPLOY,
        )
        return
    if found.get("State") not in {"Enabled", "Enabling", "Creating", "Updating"}:
        yield Finding(
            check="functions",
            what=f"{of} is fed no more: its mapping is {found.get('State')}",
            mend=f"aws lambda update-event-source-mapping --uuid {uuid} --enabled",
        )
    wanted_types = mapping.properties.get("FunctionResponseTypes") or []
    if sorted(found.get("FunctionResponseTypes") or []) != sorted(wanted_types):
        yield Finding(
            check="functions",
            what=f"{of}: its mapping does not report single messages as it must",
            mend=_DEPLOY,
        )
    wanted_size = mapping.properties.get("BatchSize")
    if wanted_size is not None and found.get("BatchSize") != wanted_size:
        yield Finding(
            check="functions",
            what=f"{of} takes {found.get('BatchSize')} messages at once, deployed with"
            f" {wanted_size}",
            mend=_DEPLOY,
        )
    yield from _cap(mapping, of, found)


def _cap(mapping: Resource, of: str, found: Mapping[str, Any]) -> Iterator[Finding]:
    wanted = (mapping.properties.get("ScalingConfig") or {}).get("MaximumConcurrency")
    there = (found.get("ScalingConfig") or {}).get("MaximumConcurrency")
    if wanted is not None and there != wanted:
        yield Finding(
            check="functions",
            what=f"{of} runs {there or 'any number'} at once, deployed with {wanted}",
            mend=_DEPLOY,
        )


def _destination(deployed: Deployed, config: Resource) -> Iterator[Finding]:
    """A clock's call that failed for good is kept, or it vanishes."""
    client = deployed.client("lambda")
    name = last(deployed.name_of(config.properties["FunctionName"]) or "")
    wanted = config.properties["DestinationConfig"]["OnFailure"]["Destination"]
    try:
        answer = asked(
            lambda: client.get_function_event_invoke_config(
                FunctionName=name, Qualifier=config.properties["Qualifier"]
            )
        )
        there = answer.get("DestinationConfig", {}).get("OnFailure", {})
    except Missing:
        there = {}
    if not there.get("Destination"):
        yield Finding(
            check="dead letters",
            what=f"failed calls of {name} are kept nowhere",
            mend=_DEPLOY,
        )
    elif not deployed.leads_to(wanted, there["Destination"]):
        yield Finding(
            check="dead letters",
            what=f"failed calls of {name} go to {last(there['Destination'])}",
            mend=_DEPLOY,
        )
