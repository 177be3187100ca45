"""What is answered to a command that cannot be understood, where a program asked."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from itertools import takewhile
from typing import Any

import typer
from typer.core import TyperGroup

from cli.output import USAGE, CliError, Output, UsageError


class Verbs(TyperGroup):
    """The verbs; what is written wrongly under ``--json`` is said in JSON too.

    Typer says it in a box, before any verb has seen what it was asked.
    """

    def main(
        self,
        args: Sequence[str] | None = None,
        prog_name: str | None = None,
        complete_var: str | None = None,
        standalone_mode: bool = True,
        windows_expand_args: bool = True,
        **extra: Any,
    ) -> Any:
        """Run the command that ``args`` are; ends the process, as Typer does."""
        given = sys.argv[1:] if args is None else list(args)
        own = {"prog_name": prog_name, "complete_var": complete_var, **extra}
        own["windows_expand_args"] = windows_expand_args
        wants_json = "--json" in takewhile(lambda word: word != "--", given)
        if not (standalone_mode and wants_json):
            return super().main(given, standalone_mode=standalone_mode, **own)
        out = Output(as_json=True)
        try:
            code = super().main(given, standalone_mode=False, **own)
        except typer.Abort:
            out.complain(CliError("stopped before it was done"))
        except Exception as error:
            said = getattr(error, "format_message", None)  # Typer's own mistakes of use
            if said is None:
                raise
            is_usage = getattr(error, "exit_code", USAGE) == USAGE
            out.complain((UsageError if is_usage else CliError)(_sentence(said())))
        sys.exit(code if isinstance(code, int) else 0)


def _sentence(text: str) -> str:
    return " ".join(text.split())
