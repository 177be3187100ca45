"""How a table of a verb's is laid out: no id, no time and no state is cut in two.

Where a terminal is too narrow, a table does without columns that say nothing and
without fractions of seconds; then texts wrap between words; at last each row
becomes a paragraph of its own.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from rich.cells import cell_len
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

NOTHING = "-"
_GAP = 2  # between two columns
_FRACTION = re.compile(r"(?<=\d\d:\d\d:\d\d)\.\d+(?=Z)")


def table(
    columns: Sequence[str], rows: Sequence[Sequence[Text]], room: int
) -> RenderableType:
    """Lay ``rows`` out in ``room`` characters; each has a cell for each column."""
    widths = [_natural(column) for column in _standing(columns, rows)]
    if _total(widths) <= room:
        return _grid(columns, rows, widths)
    said = [
        index
        for index in range(len(columns))
        if any(row[index].plain != NOTHING for row in rows)
    ]
    fewer = [columns[index] for index in said]
    shorter = [[_whole_seconds(row[index]) for index in said] for row in rows]
    fitted = _shared_out(_standing(fewer, shorter), room)
    if fitted is not None:
        return _grid(fewer, shorter, fitted)
    paragraphs: list[RenderableType] = []
    for row in rows:
        told = [(columns[index], row[index]) for index in said]
        paragraphs += [pairs([pair for pair in told if pair[1].plain != NOTHING]), ""]
    return Group(*paragraphs[:-1])


def pairs(values: Sequence[tuple[str, Text]]) -> Table:
    """Lay names and values out, one pair a line."""
    shown = Table(box=None, pad_edge=False, show_header=False)
    shown.add_column(style="bold", no_wrap=True)
    shown.add_column(overflow="fold")
    for name, value in values:
        shown.add_row(name, value)
    return shown


def _grid(
    columns: Sequence[str], rows: Sequence[Sequence[Text]], widths: Sequence[int]
) -> Table:
    shown = Table(box=None, pad_edge=False, header_style="bold")
    for column, width in zip(columns, widths, strict=True):
        shown.add_column(column, overflow="fold", width=width)
    for row in rows:
        shown.add_row(*row)
    return shown


def _standing(columns: Sequence[str], rows: Sequence[Sequence[Text]]) -> list[Text]:
    """Return each column as one text, its cells below each other."""
    return [
        Text("\n").join([Text(column), *(row[index] for row in rows)])
        for index, column in enumerate(columns)
    ]


def _shared_out(columns: Sequence[Text], room: int) -> list[int] | None:
    """Return widths that fit and hold every word whole; None where there are none."""
    widths = [_natural(column) for column in columns]
    least = [max(map(cell_len, column.plain.split())) for column in columns]
    if _total(least) > room:
        return None
    while _total(widths) > room:
        loose = [index for index, width in enumerate(widths) if width > least[index]]
        widths[max(loose, key=widths.__getitem__)] -= 1
    return widths


def _natural(text: Text) -> int:
    return max(line.cell_len for line in text.split("\n", allow_blank=True))


def _total(widths: Sequence[int]) -> int:
    return sum(widths) + _GAP * max(0, len(widths) - 1)


def _whole_seconds(cell: Text) -> Text:
    return Text(_FRACTION.sub("", cell.plain), style=cell.style)
