"""What a verb says: tables or JSON, one sentence per mistake, four exit codes.

    0  done
    1  found something, or failed
    2  the command was not written as it must be
    3  the stack could not be reached

Colour goes where a terminal shows it, and never where NO_COLOR is set.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Mapping, Sequence
from typing import Any, NoReturn

from rich.console import Console, RenderableType
from rich.progress import Progress
from rich.text import Text

from cli import layout

DONE, FOUND, USAGE, OUT_OF_REACH = 0, 1, 2, 3

# Into a pipe a row is a line: what greps a table wants whole ids.
_PIPE_WIDTH = 1_000_000

# What moves a terminal's cursor, renames its window or turns its text around: an
# event's words are a stranger's.
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")

_STYLES = {
    "SUCCEEDED": "green",
    "accepted": "green",
    "refused": "yellow",
    "FAILED": "yellow",
    "PROCESSING": "cyan",
    "DEAD": "bold red",
    "unexpected": "bold red",
    "in doubt": "bold red",
}


class CliError(Exception):
    """A verb cannot go on; the message is the one sentence the user reads."""

    code = FOUND


class UsageError(CliError):
    """Raised when the command must be written differently."""

    code = USAGE


class OutOfReachError(CliError):
    """Raised when the stack, or the way to it, is not there."""

    code = OUT_OF_REACH


class Output:
    """Speaks to whoever called: a person, or with ``as_json`` a program."""

    def __init__(self, *, as_json: bool = False) -> None:
        """Write results to stdout; complaints go to stderr."""
        self.as_json = as_json
        self._out = _console(stderr=False)
        self._err = _console(stderr=True)

    def say(self, text: str, style: str = "") -> None:
        """Tell a person something; a program is not told."""
        if not self.as_json:
            self._out.print(Text(_plain(text), style=style))

    def data(self, value: Any) -> None:
        """Give a program its value; a person is not shown it."""
        if self.as_json:
            self.raw(json.dumps(value, indent=2, default=str))

    def table(
        self, rows: Sequence[Mapping[str, Any]], columns: Sequence[str], empty: str
    ) -> None:
        """Show ``rows``: as they are to a program, as a table to a person.

        ``empty`` is said to a person when there are none.
        """
        self.data(list(rows))
        if self.as_json:
            return
        if not rows:
            self.say(empty)
            return
        names = [column.replace("_", " ") for column in columns]
        cells = [[_cell(row.get(column)) for column in columns] for row in rows]
        self._show(layout.table(names, cells, self._out.width))

    def line(self, row: Mapping[str, Any], columns: Sequence[str]) -> None:
        """Tell one row at once: a line of text, or a line of JSON."""
        if self.as_json:
            self.raw(json.dumps(dict(row), default=str))
        else:
            cells = [_cell(row.get(column)) for column in columns]
            self._out.print(Text("  ").join(cells), soft_wrap=True)

    def pairs(self, values: Mapping[str, Any]) -> None:
        """Show names and values to a person."""
        told = []
        for name, value in values.items():
            text = json.dumps(value) if isinstance(value, Mapping) else value
            told.append((name.replace("_", " "), _cell(text)))
        self._show(layout.pairs(told))

    def raw(self, text: str) -> None:
        """Print text as it is; on a terminal, what would steer it is written out."""
        shown = _plain(text) if self._out.is_terminal else _encodable(text)
        self._out.print(shown, markup=False, highlight=False, soft_wrap=True)

    def _show(self, laid_out: RenderableType) -> None:
        if self._out.is_terminal:
            self._out.print(laid_out)
            return
        with self._out.capture() as captured:
            self._out.print(laid_out)
        for line in captured.get().splitlines():  # without the blanks behind it
            self.raw(line.rstrip())

    def progress(self) -> Progress:
        """Return a progress bar on stderr; a program, or a pipe, gets none."""
        silent = self.as_json or not self._err.is_terminal
        return Progress(console=self._err, transient=True, disable=silent)

    def complain(self, error: CliError) -> NoReturn:
        """Say what is wrong in one sentence and end with its code."""
        if self.as_json:
            text = json.dumps({"error": str(error)})
            self._err.print(text, markup=False, highlight=False, soft_wrap=True)
        else:
            self._err.print(Text(_plain(f"bellhop: {error}")), soft_wrap=True)
        sys.exit(error.code)


def _console(*, stderr: bool) -> Console:
    console = Console(stderr=stderr, highlight=False)
    if not console.is_terminal:
        console.width = _PIPE_WIDTH
    return console


def _cell(value: Any) -> Text:
    match value:
        case None:
            text = layout.NOTHING
        case bool():
            text = "yes" if value else "no"
        case _:
            text = str(value)
    return Text(_plain(text), style=_STYLES.get(text, ""))


def _plain(text: str) -> str:
    return _CONTROL.sub(lambda found: ascii(found[0])[1:-1], _encodable(text))


def _encodable(text: str) -> str:
    # Half a surrogate pair, which JSON may hold, cannot be written at all.
    return text.encode("utf-8", "backslashreplace").decode()
