"""The services: each operation is one method, named as on the wire."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from typing import Any

from bench.fake_aws.expressions import holds, updated
from bench.fake_aws.units import refused_units, write_units

SECRET = "bench-secret"  # noqa: S105 - made up
_PREFIXES = {
    "DynamoDB_20120810": "dynamodb",
    "AmazonSQS": "sqs",
    "AWSEvents": "events",
    "secretsmanager": "secretsmanager",
}

Reply = tuple[int, dict[str, Any]]


class Aws:
    """All of it. ``calls`` by ``service.Operation``; ``units`` by event and row."""

    def __init__(self) -> None:
        """Begin empty."""
        self.calls: Counter[str] = Counter()
        self.units: Counter[str] = Counter()
        self._items: dict[tuple[str, ...], dict[str, Any]] = {}
        self._objects: dict[str, bytes] = {}

    def reset(self) -> None:
        """Count from nothing; what is stored stays."""
        self.calls.clear()
        self.units.clear()

    def told(self) -> dict[str, Any]:
        """Return what was counted."""
        return {"calls": dict(self.calls), "units": dict(self.units)}

    def call(self, target: str, body: bytes) -> tuple[str, Reply]:
        """Answer an operation of a JSON protocol; return its service with it."""
        prefix, _, operation = target.partition(".")
        service = _PREFIXES[prefix]
        self.calls[f"{service}.{operation}"] += 1
        return service, getattr(self, f"_{operation}")(json.loads(body))

    def s3(self, method: str, path: str, body: bytes) -> bytes | None:
        """Store or return an object; ``None`` where there is none."""
        self.calls["s3.PutObject" if method == "PUT" else "s3.GetObject"] += 1
        if method == "PUT":
            self._objects[path] = body
            return b""
        return self._objects.get(path)

    def _PutItem(self, request: Mapping[str, Any]) -> Reply:  # noqa: N802
        item = request["Item"]
        key = _key(request["TableName"], item)
        return self._write(request, key, item)

    def _UpdateItem(self, request: Mapping[str, Any]) -> Reply:  # noqa: N802
        key = _key(request["TableName"], request["Key"])
        after = updated(request, self._items.get(key, {}))
        return self._write(request, key, after)

    def _write(
        self, request: Mapping[str, Any], key: tuple[str, ...], after: dict[str, Any]
    ) -> Reply:
        before = self._items.get(key, {})
        row = " ".join(key[1:])
        if not holds(request, before):
            self.units[row] += refused_units(before)
            refusal: dict[str, Any] = {
                "__type": "com.amazonaws.dynamodb.v20120810#"
                "ConditionalCheckFailedException",
                "message": "The conditional request failed",
            }
            if request.get("ReturnValuesOnConditionCheckFailure") == "ALL_OLD":
                refusal["Item"] = before
            return 400, refusal
        self.units[row] += write_units(before, after)
        self._items[key] = after
        wanted = request.get("ReturnValues") == "ALL_NEW"
        return 200, {"Attributes": after} if wanted else {}

    def _GetItem(self, request: Mapping[str, Any]) -> Reply:  # noqa: N802
        item = self._items.get(_key(request["TableName"], request["Key"]))
        return 200, {} if item is None else {"Item": item}

    def _SendMessage(self, _: Mapping[str, Any]) -> Reply:  # noqa: N802
        return 200, {"MessageId": "00000000-0000-0000-0000-000000000000"}

    def _ChangeMessageVisibility(self, _: Mapping[str, Any]) -> Reply:  # noqa: N802
        return 200, {}

    def _PutEvents(self, request: Mapping[str, Any]) -> Reply:  # noqa: N802
        taken = [{"EventId": "0"} for _ in request["Entries"]]
        return 200, {"FailedEntryCount": 0, "Entries": taken}

    def _GetSecretValue(self, request: Mapping[str, Any]) -> Reply:  # noqa: N802
        return 200, {"Name": request["SecretId"], "SecretString": SECRET}


def _key(table: str, item: Mapping[str, Any]) -> tuple[str, ...]:
    names = ("pk", "sk") if "sk" in item else ("pk",) if "pk" in item else ("id",)
    return (table, *(item[name]["S"] for name in names))
