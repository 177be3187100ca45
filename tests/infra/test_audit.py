"""The audit is only ever added to: no role of a function may change or delete it."""

from __future__ import annotations

from tests.infra.template import Template

CHANGES = {"dynamodb:PutItem", "dynamodb:UpdateItem", "dynamodb:DeleteItem"}


def test_no_function_changes_or_deletes_an_entry(template: Template) -> None:
    checked = 0
    for function in template.all("Lambda::Function"):
        role = template.role_of(function.id)
        may = template.doings(role, "dynamodb:") & CHANGES
        denied = {
            action
            for statement in template.denied(role)
            if statement.conditions == {"dynamodb:LeadingKeys": ("audit#*",)}
            for action in statement.actions
        }
        # The digest adds an entry when a group of dead letters opens again.
        adds = function.of("Handler") == "lambdas.dlq_digest.handler.handle"
        assert may - denied == ({"dynamodb:PutItem"} if adds else set())
        checked += bool(may)
    assert checked >= 4
