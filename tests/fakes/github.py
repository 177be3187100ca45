"""GitHub's REST API as effects use it: honours no key, lists by page and time."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any
from urllib.parse import urlencode

from tests.fakes.services import Reply, Request


class FakeGitHub:
    """Comments, reviews and check runs by path. A repository may have moved."""

    def __init__(self, token: str) -> None:
        self.token = token
        self.made: dict[str, list[dict[str, Any]]] = defaultdict(list)
        self.locked: set[str] = set()
        self.moved: dict[str, str] = {}
        self.now: Callable[[], datetime] = lambda: datetime.now(UTC)

    def __call__(self, request: Request) -> Reply:
        for old, new in self.moved.items():
            if request.path.startswith(old):
                there = f"https://api.github.com{request.path.replace(old, new)}"
                return Reply.of({"message": "Moved"}, 307, location=there)
        if request.headers.get("authorization") != f"Bearer {self.token}":
            return Reply.of({"message": "Bad credentials"}, 401)
        if request.method == "POST":
            return self._create(request)
        if request.path.endswith("/check-runs"):
            return self._check_runs(request)
        return self._page(request)

    def _create(self, request: Request) -> Reply:
        if request.path in self.locked:
            message = "Unable to create comment because issue is locked."
            return Reply.of({"message": message}, 403)
        number = sum(map(len, self.made.values())) + 1
        made = {
            **request.document,
            "id": number,
            "html_url": f"https://github.com{request.path}#{number}",
            "updated_at": self.now().strftime("%Y-%m-%dT%H:%M:%SZ"),
        }
        self.made[request.path].append(made)
        return Reply.of(made, 201)

    def _page(self, request: Request) -> Reply:
        size = min(int(request.query.get("per_page", 30)), 100)
        number = int(request.query.get("page", 1))
        since = request.query.get("since", "")
        found = [e for e in self.made[request.path] if e["updated_at"] >= since]
        page = found[size * (number - 1) : size * number]
        if len(found) <= size * number:
            return Reply.of(page)
        query = urlencode({**request.query, "page": number + 1})
        link = f'<https://api.github.com{request.path}?{query}>; rel="next"'
        return Reply.of(page, link=f'<https://api.github.com/x>; rel="first", {link}')

    def _check_runs(self, request: Request) -> Reply:
        repository, _, rest = request.path.partition("/commits/")
        sha = rest.removesuffix("/check-runs")
        found = [
            run
            for run in self.made[f"{repository}/check-runs"]
            if run["head_sha"] == sha and run["name"] == request.query["check_name"]
        ]
        return Reply.of({"total_count": len(found), "check_runs": found})
