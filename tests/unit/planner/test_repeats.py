"""The planner stopped anywhere, late, and beside others: each task begins once."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace
from typing import Any

import pytest

from lambdas.shared.errors import Unavailable
from lambdas.shared.ledger import TableLedger
from tests.fakes.calendars import START, Office, calendar, close, utc
from tests.fakes.ledger import FakeBodies


@pytest.fixture
def office() -> Office:
    return Office(START)


@pytest.mark.parametrize("call", range(9))
def test_planner_stopped_at_any_call_begins_each_task_once(call: int) -> None:
    office = Office(START)
    close(office, day="20261121")
    close(office, "later")
    calls = _Dying(office.table, call)
    office.ledger = TableLedger(calls, FakeBodies(), ledger_days=45)
    office.planner = replace(office.new_planner(), table=calls)

    with suppress(Unavailable):
        office.look()
    office.go(utc("2026-11-29T00:00:00"))

    assert calls.has_died
    assert sorted(id_.split(":")[2] for _, id_ in office.begun) == ["close", "later"]


def test_two_planners_at_once_leave_one_schedule_per_task(office: Office) -> None:
    """The other one has read everything before the first writes."""
    close(office)
    office.look()
    before = dict(office.timetable.at)
    late = replace(office.planner, table=_Blind(office.table))

    late.look()

    assert office.timetable.at == before
    assert office.states() == {"close:once:month-end-close": "planned"}


def test_planners_at_once_begin_and_schedule_each_task_once(office: Office) -> None:
    close(office, day="20261121")
    close(office, "later")
    office.site.body = calendar(*office.events.values())
    planners = [office.new_planner() for _ in range(6)]

    with ThreadPoolExecutor(len(planners)) as pool:
        list(pool.map(lambda planner: planner.look(), planners))
    office.look()

    assert [id_.split(":")[2] for _, id_ in office.begun] == ["close"]
    assert [at for at, _ in office.timetable.at.values()] == [
        utc("2026-11-26T17:00:00")
    ]


class _Dying:
    """A table that fails at one call, after that call was done."""

    def __init__(self, table: Any, call: int) -> None:
        self._table = table
        self._left = call
        self.has_died = False

    def __getattr__(self, name: str) -> Any:
        real = getattr(self._table, name)

        def call(*args: Any, **kwargs: Any) -> Any:
            answer = real(*args, **kwargs)
            self._left -= 1
            if self._left < 0 and not self.has_died:
                self.has_died = True
                raise Unavailable("killed")
            return answer

        return call


class _Blind:
    """A table whose first look at the tasks is as old as before there were any."""

    def __init__(self, table: Any) -> None:
        self._table = table
        self._is_first = True

    def __getattr__(self, name: str) -> Any:
        return getattr(self._table, name)

    def query(self, pk: str, prefix: str = "") -> Any:
        if self._is_first:
            self._is_first = False
            return iter([])
        return self._table.query(pk, prefix)
