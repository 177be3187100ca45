"""Roles: there, trusted by who acts as them, and able to do what they must."""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import partial
from typing import Any
from urllib.parse import unquote

from cli.doctor.deployed import Deployed, Finding, Missing, Resource, asked, last

_DEPLOY = "deploy again: cdk deploy"


def look(deployed: Deployed) -> Iterator[Finding]:
    """Compare each role's trust and inline policies with the template."""
    for role in deployed.of("IAM::Role"):
        yield from _role(deployed, role)
    for policy in [*deployed.of("IAM::Policy"), *deployed.of("IAM::ManagedPolicy")]:
        for role in policy.properties.get("Roles", []):
            name = deployed.name_of(role)
            if name is not None:
                yield from _policy(deployed, policy, last(name))


def _role(deployed: Deployed, role: Resource) -> Iterator[Finding]:
    name = last(role.physical)
    try:
        answer = asked(lambda: deployed.client("iam").get_role(RoleName=name))
    except Missing:
        yield Finding(
            check="permissions", what=f"the role {name} is gone", mend=_DEPLOY
        )
        return
    wanted = _trusted(role.properties["AssumeRolePolicyDocument"])
    there = _trusted(_read(answer["Role"]["AssumeRolePolicyDocument"]))
    if wanted - there:
        yield Finding(
            check="permissions",
            what=f"{', '.join(sorted(wanted - there))} may not act as the role {name}",
            mend=_DEPLOY,
        )


def _policy(deployed: Deployed, policy: Resource, role: str) -> Iterator[Finding]:
    iam = deployed.client("iam")
    name = policy.properties.get("PolicyName") or last(policy.physical)
    wanted = _allowed(policy.properties["PolicyDocument"])
    there: set[str] = set()
    denied: set[str] = set()
    try:
        listed = asked(lambda: iam.list_role_policies(RoleName=role))["PolicyNames"]
        for each in listed:
            found = asked(partial(iam.get_role_policy, RoleName=role, PolicyName=each))
            document = _read(found["PolicyDocument"])
            there |= _allowed(document)
            denied |= _allowed(document, effect="Deny")
        if policy.type == "IAM::ManagedPolicy":
            there |= _attached(iam, role, name)
    except Missing:
        pass
    lacking = wanted - there
    if lacking:
        shown = ", ".join(sorted(lacking)[:4]) + (", ..." if len(lacking) > 4 else "")
        yield Finding(
            check="permissions",
            what=f"the role {role} may not do {shown} ({name})",
            mend=_DEPLOY,
        )
    # Some denials are our own: no role changes an entry of the audit.
    denied -= _allowed(policy.properties["PolicyDocument"], effect="Deny")
    blocked = {d for d in denied if d in wanted or d == "*"}
    if blocked:
        yield Finding(
            check="permissions",
            what=f"the role {role} is denied {', '.join(sorted(blocked))}",
            mend=f"remove that statement from the role {role}",
        )


def _attached(iam: Any, role: str, name: str) -> set[str]:
    """Return what a managed policy allows, if the role has it."""
    listed = asked(partial(iam.list_attached_role_policies, RoleName=role))
    for each in listed["AttachedPolicies"]:
        if each["PolicyName"] == name:
            arn = each["PolicyArn"]
            about = asked(partial(iam.get_policy, PolicyArn=arn))["Policy"]
            version = asked(
                partial(
                    iam.get_policy_version,
                    PolicyArn=arn,
                    VersionId=about["DefaultVersionId"],
                )
            )
            return _allowed(_read(version["PolicyVersion"]["Document"]))
    return set()


def _allowed(document: Any, effect: str = "Allow") -> set[str]:
    actions: set[str] = set()
    for statement in _list(document.get("Statement", [])):
        if statement.get("Effect") == effect:
            actions |= set(_list(statement.get("Action", [])))
    return actions


def _trusted(document: Any) -> set[str]:
    services: set[str] = set()
    for statement in _list(document.get("Statement", [])):
        principal = statement.get("Principal", {})
        if statement.get("Effect") == "Allow" and isinstance(principal, dict):
            services |= {
                each
                for each in _list(principal.get("Service", []))
                if isinstance(each, str)
            }
    return services


def _read(document: Any) -> Any:
    return json.loads(unquote(document)) if isinstance(document, str) else document


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]
