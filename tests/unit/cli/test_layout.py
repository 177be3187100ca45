"""A table fits the terminal, and what is copied out of one is whole."""

from __future__ import annotations

import io

import pytest
from rich.console import Console
from rich.text import Text

from cli import layout

_EVENT = "github:b4121d2a-ed93-4be8-bf82-d9813dda00f1"
_AT = "2026-11-29T21:24:40.529Z"
_COLUMNS = ("agent", "state", "started at", "event id", "reason")
_ROW = ("billing", "SUCCEEDED", _AT, _EVENT, "-")
_FAILED = ("clerk", "DEAD", _AT, _EVENT, "GiveUp: the shop answered 422, twice")


def _shown(
    rows: list[tuple[str, ...]], room: int, columns: tuple[str, ...] = _COLUMNS
) -> str:
    to = io.StringIO()
    cells = [[Text(cell) for cell in row] for row in rows]
    Console(file=to, width=room).print(layout.table(columns, cells, room))
    return to.getvalue()


@pytest.mark.parametrize("room", [60, 72, 80, 100, 132, 240])
def test_no_id_time_or_state_is_cut_and_no_line_is_too_long(room: int) -> None:
    shown = _shown([_ROW, _FAILED], room)
    for word in (_EVENT, "2026-11-29T21:24:40", "SUCCEEDED", "DEAD", "billing"):
        assert word in shown
    assert max(map(len, shown.splitlines())) <= room
    assert {"GiveUp:", "shop", "answered", "422,", "twice"} <= set(shown.split())


def test_where_there_is_room_a_row_is_a_line_with_every_column() -> None:
    head, *lines = _shown([_ROW, _FAILED], 240).splitlines()
    assert head.split() == ["agent", "state", "started", "at", "event", "id", "reason"]
    assert [line.split()[2] for line in lines] == [_AT, _AT]


def test_a_narrow_terminal_is_spared_columns_that_say_nothing() -> None:
    lines = _shown([_ROW], 90).splitlines()
    assert len(lines) == 2
    assert "reason" not in lines[0]
    assert "2026-11-29T21:24:40Z" in lines[1]


def test_texts_wrap_between_words() -> None:
    shown = _shown([("clerk", "GiveUp: it answered 422")], 18, ("agent", "reason"))
    assert [line.split() for line in shown.splitlines()] == [
        ["agent", "reason"],
        ["clerk", "GiveUp:", "it"],
        ["answered"],
        ["422"],
    ]


def test_what_fits_in_no_way_is_a_paragraph_a_row_with_nothing_left_out() -> None:
    paragraphs = _shown([_ROW, _FAILED], 60).split("\n\n")
    trimmed = [line.rstrip() for line in paragraphs[0].splitlines()]
    assert trimmed == [
        "agent       billing",
        "state       SUCCEEDED",
        f"started at  {_AT}",
        f"event id    {_EVENT}",
    ]
    assert "reason      GiveUp: the shop answered 422, twice" in paragraphs[1]


def test_wide_characters_count_for_what_they_take() -> None:
    shown = _shown([("日本語日本語", "完了")], 19, ("title", "state"))
    assert shown.splitlines()[1].split() == ["日本語日本語", "完了"]
    narrow = _shown([("日本語日本語", "完了")], 18, ("title", "state"))
    assert narrow.splitlines()[0].split()[0] == "title"
    assert all(Text(line).cell_len <= 19 for line in shown.splitlines())
