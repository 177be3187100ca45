"""The ledger's table in DynamoDB, and the ledger put together over it."""

from __future__ import annotations

import base64
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from botocore.exceptions import ClientError

from lambdas.shared.adapters import direct
from lambdas.shared.adapters.failures import code, told_apart
from lambdas.shared.adapters.s3 import S3Bodies
from lambdas.shared.ledger import TableLedger
from lambdas.shared.table import (
    Absent,
    Any_,
    Below,
    Change,
    Condition,
    Every,
    Is,
    IsNot,
    OneOf,
    Outcome,
    Row,
)

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

    from lambdas.shared.settings import LedgerSettings

_WHAT = "the ledger"
_REFUSED = "ConditionalCheckFailedException"

# The sort key of each index; a table of the stack's own making.
_INDEX_KEYS = {
    "by-time": ("accepted", "received_at"),
    "by-state": ("attention", "finished_at"),
}


def ledger(settings: LedgerSettings, *, ledger_days: int) -> TableLedger:
    """Return the ledger of this deployment; nothing is called yet."""
    return TableLedger(
        table(settings), S3Bodies(settings.payload_bucket), ledger_days=ledger_days
    )


def table(settings: LedgerSettings) -> DynamoTable:
    """Return the table of this deployment; nothing is called yet."""
    return DynamoTable(settings.ledger_table, lambda: direct.client("dynamodb"))


class DynamoTable:
    """A :class:`lambdas.shared.table.Table` in DynamoDB."""

    def __init__(self, name: str, client: Callable[[], DynamoDBClient]) -> None:
        """Use the table ``name``; ``client`` is called at every operation."""
        self._name = name
        self._client = client

    def put(self, row: Row, *, when: Condition | None = None) -> bool:
        """See the port."""
        words = _Words()
        request: dict[str, Any] = {"TableName": self._name, "Item": _item(row)}
        if when is not None:
            request["ConditionExpression"] = words.condition(when)
        with told_apart(_WHAT):
            try:
                self._client().put_item(**request, **words.given())
            except ClientError as error:
                if code(error) != _REFUSED:
                    raise
                return False
        return True

    def update(self, pk: str, sk: str, change: Change, *, when: Condition) -> Outcome:
        """See the port; a refusal costs no second read."""
        words = _Words()
        with told_apart(_WHAT):
            try:
                answer = self._client().update_item(
                    TableName=self._name,
                    Key=_item({"pk": pk, "sk": sk}),
                    UpdateExpression=words.change(change),
                    ConditionExpression=words.condition(when),
                    ReturnValues="ALL_NEW",
                    ReturnValuesOnConditionCheckFailure="ALL_OLD",
                    **words.given(),
                )
            except ClientError as error:
                if code(error) != _REFUSED:
                    raise
                old: Any = error.response.get("Item") or {}
                return Outcome(False, _row(old))
        return Outcome(True, _row(answer.get("Attributes", {})))

    def get(self, pk: str, sk: str) -> Row | None:
        """See the port."""
        with told_apart(_WHAT):
            answer = self._client().get_item(
                TableName=self._name,
                Key=_item({"pk": pk, "sk": sk}),
                ConsistentRead=True,
            )
        item = answer.get("Item")
        return None if item is None else _row(item)

    def query(self, pk: str, prefix: str = "") -> Iterator[Row]:
        """See the port."""
        values = {":pk": _value(pk)}
        expression = "pk = :pk"
        if prefix:
            expression += " AND begins_with(sk, :prefix)"
            values[":prefix"] = _value(prefix)
        return self._pages(
            KeyConditionExpression=expression,
            ExpressionAttributeValues=values,
            ConsistentRead=True,
        )

    def index(self, index: str, partition: str, low: Any, high: Any) -> Iterator[Row]:
        """See the port."""
        hash_key, range_key = _INDEX_KEYS[index]
        # BETWEEN takes both ends: the upper one is passed over here.
        pages = self._pages(
            IndexName=index,
            KeyConditionExpression="#p = :p AND #s BETWEEN :low AND :high",
            ExpressionAttributeNames={"#p": hash_key, "#s": range_key},
            ExpressionAttributeValues={
                ":p": _value(partition),
                ":low": _value(low),
                ":high": _value(high),
            },
        )
        return (row for row in pages if row[range_key] != high)

    def delete(self, pk: str, sk: str) -> None:
        """Remove a row, if it is there; few functions may."""
        with told_apart(_WHAT):
            self._client().delete_item(
                TableName=self._name, Key=_item({"pk": pk, "sk": sk})
            )

    def _pages(self, **request: Any) -> Iterator[Row]:
        while True:
            with told_apart(_WHAT):
                page = self._client().query(TableName=self._name, **request)
            yield from map(_row, page["Items"])
            if "LastEvaluatedKey" not in page:
                return
            request["ExclusiveStartKey"] = page["LastEvaluatedKey"]


class _Words:
    """The names and values of one request's expressions, as they are needed."""

    def __init__(self) -> None:
        self._names: dict[str, str] = {}
        self._values: dict[str, Any] = {}

    def given(self) -> dict[str, Any]:
        given: dict[str, Any] = {}
        if self._names:
            given["ExpressionAttributeNames"] = {v: k for k, v in self._names.items()}
        if self._values:
            given["ExpressionAttributeValues"] = self._values
        return given

    def condition(self, condition: Condition) -> str:
        match condition:
            case Absent(name):
                return f"attribute_not_exists({self._name(name)})"
            case Is(name, value):
                return f"{self._name(name)} = {self._value(value)}"
            case IsNot(name, value):
                return f"{self._name(name)} <> {self._value(value)}"
            case Below(name, value):
                return f"{self._name(name)} < {self._value(value)}"
            case OneOf(name, values):
                listed = ", ".join(map(self._value, values))
                return f"{self._name(name)} IN ({listed})"
            case Every(parts):
                return "(" + " AND ".join(map(self.condition, parts)) + ")"
            case Any_(parts):
                return "(" + " OR ".join(map(self.condition, parts)) + ")"
            case _:
                raise TypeError(f"no such condition: {condition!r}")

    def change(self, change: Change) -> str:
        clauses = {
            "SET": [
                f"{self._name(n)} = {self._value(v)}" for n, v in change.set.items()
            ],
            "ADD": [f"{self._name(n)} {self._value(v)}" for n, v in change.add.items()],
            "REMOVE": [self._name(n) for n in change.remove],
        }
        return " ".join(f"{word} {', '.join(c)}" for word, c in clauses.items() if c)

    def _name(self, name: str) -> str:
        return self._names.setdefault(name, f"#n{len(self._names)}")

    def _value(self, value: Any) -> str:
        word = f":v{len(self._values)}"
        self._values[word] = _value(value)
        return word


def _item(row: Row) -> dict[str, Any]:
    return {name: _value(value) for name, value in row.items()}


def _value(value: Any) -> dict[str, Any]:
    match value:
        case str():
            # DynamoDB takes UTF-8; half a surrogate pair would fail the whole write.
            return {"S": value.encode("utf-8", "backslashreplace").decode()}
        case bool():
            return {"BOOL": value}
        case int():
            return {"N": str(value)}
        case bytes():
            return {"B": value}
        case Mapping():
            return {"M": _item(value)}
        case _:
            raise TypeError(f"the ledger holds no {type(value).__name__}")


def _row(item: Mapping[str, Any]) -> dict[str, Any]:
    return {name: _plain(value) for name, value in item.items()}


def _plain(value: Mapping[str, Any]) -> Any:
    ((kind, inner),) = value.items()
    match kind:
        case "N":
            return int(inner)
        case "M":
            return _row(inner)
        case "B":
            # As it came, or as botocore has read it.
            return base64.b64decode(inner) if isinstance(inner, str) else inner
        case _:
            return inner
