"""Linear's GraphQL API as effects use it: refuses a second comment under one id."""

from __future__ import annotations

import uuid
from typing import Any

from tests.fakes.services import Reply, Request


class FakeLinear:
    """Comments by id."""

    def __init__(self, token: str) -> None:
        self.token = token
        self.comments: dict[str, dict[str, Any]] = {}
        self.issues = {"ENG-12"}

    def __call__(self, request: Request) -> Reply:
        if request.headers.get("authorization") != self.token:
            return _error("authentication error", "Authentication required", 401)
        query, variables = request.document["query"], request.document["variables"]
        if "commentCreate" not in query:
            found = self.comments.get(variables["id"])
            if found is None:
                return _error("invalid input", "Entity not found: Comment")
            return Reply.of({"data": {"comment": _shown(found)}})
        wanted = variables["input"]
        if uuid.UUID(wanted["id"]).version != 4:
            return _error("invalid input", "id must be a UUID")
        if wanted["issueId"] not in self.issues:
            return _error("invalid input", "Entity not found: Issue")
        if wanted["id"] in self.comments:
            return _error("invalid input", "Entity with this id already exists")
        self.comments[wanted["id"]] = wanted
        made = {"success": True, "comment": _shown(wanted)}
        return Reply.of({"data": {"commentCreate": made}})


def _shown(comment: dict[str, Any]) -> dict[str, str]:
    return {"id": comment["id"], "url": f"https://linear.app/c/{comment['id']}"}


def _error(kind: str, message: str, status: int = 200) -> Reply:
    return Reply.of(
        {"data": None, "errors": [{"message": message, "extensions": {"type": kind}}]},
        status,
    )
