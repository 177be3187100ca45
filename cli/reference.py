"""Writes docs/reference/cli.md: ``python -m cli.reference > docs/reference/cli.md``.

A test holds the page to what this prints, so that no option goes unexplained.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from typing import Any

import typer

from cli.main import app
from cli.session import SHARED

_HEAD = """\
# The command line

`bellhop` is in `.venv/bin` once a `make` command has run. It speaks to the local
stack (`--local`, started by `make up`) or to a deployed one (`--stack NAME`, with
`--profile` and `--region` as you need them).
With neither it takes the local stack if that is up, and never an account that it
was not told of. `BELLHOP_STACK` may name the stack once for all. The fleet it goes
by is the one that the local stack was started with; for a deployed stack, `fleet.toml`
of this checkout or the file that `BELLHOP_FLEET` names.

| ends with | when |
|---|---|
| 0 | done |
| 1 | something was found (a dead run, an unexpected answer, ...), or it failed |
| 2 | the command must be written differently; one sentence says how |
| 3 | the stack could not be reached |

`--json` answers in JSON on standard output; complaints are on standard error, as
`{"error": ...}`. Colour is left out in a pipe and where `NO_COLOR` is set.
`bellhop --install-completion` teaches your shell the verbs and options.

<!-- From the verbs themselves: python -m cli.reference > docs/reference/cli.md -->
"""


def page() -> str:
    """Return the whole page."""
    return _HEAD + "".join(_sections("bellhop", typer.main.get_command(app)))


def _sections(path: str, command: Any) -> Iterator[str]:
    subcommands = getattr(command, "commands", None)
    if subcommands is not None:
        for name, subcommand in subcommands.items():
            yield from _sections(f"{path} {name}", subcommand)
        return
    arguments = [p for p in command.params if p.param_type_name == "argument"]
    own = [
        p
        for p in command.params
        if p.param_type_name == "option" and p.name not in {*SHARED, "help"}
    ]
    words = [
        argument.name.upper() if argument.required else f"[{argument.name.upper()}]"
        for argument in arguments
    ]
    yield f"\n## `{' '.join([path, *words])}`\n\n{inspect.cleandoc(command.help)}\n"
    if own:
        yield "\n| option | what it does |\n|---|---|\n"
        yield from (_row(option) for option in own)


def _row(option: Any) -> str:
    names = "`, `".join([*option.opts, *option.secondary_opts])
    # A bar ends a cell of a table, even within backticks.
    metavar = "" if option.is_flag else f" {option.metavar}".replace("|", r"\|")
    default = "" if option.is_flag or option.default is None else option.default
    told = f" (default: {default})" if default != "" else ""
    return f"| `{names}{metavar}` | {option.help}{told} |\n"


if __name__ == "__main__":
    typer.echo(page(), nl=False)
