"""The wire record: counts, ends of processes and kill points are read out of it."""

from __future__ import annotations

from pathlib import Path

from local.wire import Wire, append


def call(wire: Wire, name: str, function: str = "receiver") -> None:
    append(wire.path, at=1.0, call=name, function=function, pid=7, status=200, path="/")


def made(tmp_path: Path) -> Wire:
    wire = Wire(path=tmp_path / "wire.jsonl")
    wire.path.touch()
    return wire


def test_calls_are_counted_from_a_mark_and_by_function(tmp_path: Path) -> None:
    wire = made(tmp_path)
    call(wire, "dynamodb.PutItem")
    mark = wire.mark()
    call(wire, "dynamodb.PutItem")
    call(wire, "sqs.SendMessage", "relay")

    assert wire.counts()["dynamodb.PutItem"] == 2
    assert wire.counts(mark, "receiver") == {"dynamodb.PutItem": 1}


def test_points_number_each_call_in_order_of_arrival(tmp_path: Path) -> None:
    wire = made(tmp_path)
    for name in ["dynamodb.UpdateItem", "world.POST", "dynamodb.UpdateItem"]:
        call(wire, name)

    assert wire.points() == [
        "dynamodb.UpdateItem:1",
        "world.POST:1",
        "dynamodb.UpdateItem:2",
    ]


def test_a_line_that_is_still_being_written_is_left_for_later(tmp_path: Path) -> None:
    wire = made(tmp_path)
    call(wire, "dynamodb.PutItem")
    with wire.path.open("a") as file:
        file.write('{"call": "dynamo')

    assert wire.counts() == {"dynamodb.PutItem": 1}


def test_ends_of_processes_are_told_by_pid(tmp_path: Path) -> None:
    wire = made(tmp_path)
    append(wire.path, at=1.0, pid=42, exit=-9)

    assert wire.exits() == {42: -9}
    assert wire.calls() == []
