"""The benchmarks' bill: DynamoDB's documented rules, by hand-made examples."""

from __future__ import annotations

from typing import Any

import pytest

from bench.fake_aws.expressions import holds, updated
from bench.fake_aws.units import INDEXES, item_bytes, refused_units, write_units
from lambdas.shared.adapters import dynamodb

_SMALL = {"pk": {"S": "e"}, "sk": {"S": "run#a"}}


@pytest.mark.parametrize(
    ("value", "size"),
    [
        ({"S": "é"}, 2),
        ({"N": "1700000000000"}, 2),
        ({"N": "-12345"}, 5),
        ({"B": "AAEC"}, 3),
        ({"B": "AA=="}, 1),
        ({"BOOL": True}, 1),
        ({"M": {"a": {"S": "bc"}}}, 3 + 1 + 1 + 2),
    ],
    ids=["text", "zeros", "negative", "binary", "padded", "bool", "map"],
)
def test_a_value_weighs_what_the_rules_say(value: dict[str, Any], size: int) -> None:
    assert item_bytes({"n": value}) == 1 + size


def test_a_write_costs_by_the_larger_of_before_and_after() -> None:
    large = _SMALL | {"body": {"S": "x" * 2000}}
    assert write_units({}, _SMALL) == 1
    assert write_units(_SMALL, large) == 2
    assert write_units(large, _SMALL) == 2
    assert refused_units(large) == 2
    assert refused_units({}) == 1


def test_an_index_is_written_when_its_entry_appears_changes_or_goes() -> None:
    failed = _SMALL | {"attention": {"S": "FAILED"}, "finished_at": {"N": "1"}}
    dead = failed | {"attention": {"S": "DEAD"}}
    assert write_units(_SMALL, failed) == 2
    assert write_units(failed, _SMALL) == 2
    assert write_units(failed, dead) == 3
    assert write_units(failed, failed | {"note": {"S": "x"}}) == 1


def test_the_indexes_are_those_of_the_ledger() -> None:
    assert INDEXES == dynamodb._INDEX_KEYS


def test_conditions_and_updates_are_evaluated_as_they_are_sent() -> None:
    request: dict[str, Any] = {
        "Key": _SMALL,
        "ConditionExpression": "(attribute_not_exists(#a)"
        " OR (#a IN (:x, :y) AND #n < :n))",
        "UpdateExpression": "SET #a = :x ADD #n :n REMOVE #gone",
        "ExpressionAttributeNames": {"#a": "state", "#n": "count", "#gone": "gone"},
        "ExpressionAttributeValues": {
            ":x": {"S": "X"},
            ":y": {"S": "Y"},
            ":n": {"N": "10"},
        },
    }
    item: dict[str, Any] = {
        "state": {"S": "Y"},
        "count": {"N": "9"},
        "gone": {"BOOL": True},
    }
    assert holds(request, {})
    assert holds(request, item)
    assert not holds(request, item | {"count": {"N": "10"}})
    assert not holds(request, item | {"state": {"S": "Z"}})
    assert updated(request, item) == _SMALL | {
        "state": {"S": "X"},
        "count": {"N": "19"},
    }
