"""One call of the command line: where it goes and how it answers.

:func:`verb` gives every verb the same options and the same way to fail, so
that a verb itself is only what it does.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Annotated, Any, NoReturn

import typer
from botocore.exceptions import BotoCoreError, ClientError

from cli import target as targets
from cli.output import CliError, OutOfReachError, Output
from cli.target import Target
from lambdas.shared.clock import UnreadableClockError
from lambdas.shared.errors import Misconfigured, Unavailable

_PANEL = "Which stack, and how to answer"

Local = Annotated[
    bool,
    typer.Option(
        "--local", help="The stack that `make up` started.", rich_help_panel=_PANEL
    ),
]
Stack = Annotated[
    str | None,
    typer.Option(
        help="A deployed stack, by name.",
        envvar="BELLHOP_STACK",
        metavar="NAME",
        rich_help_panel=_PANEL,
    ),
]
Profile = Annotated[
    str | None,
    typer.Option(
        help="AWS profile for --stack.", metavar="NAME", rich_help_panel=_PANEL
    ),
]
Region = Annotated[
    str | None,
    typer.Option(
        help="AWS region for --stack.", metavar="NAME", rich_help_panel=_PANEL
    ),
]
AsJson = Annotated[
    bool,
    typer.Option(
        "--json", help="Answer in JSON, for programs.", rich_help_panel=_PANEL
    ),
]

SHARED = {
    "local": (Local, False),
    "stack": (Stack, None),
    "profile": (Profile, None),
    "region": (Region, None),
    "as_json": (AsJson, False),
}


class Session:
    """What a verb gets: its target, looked up when first needed, and its output."""

    def __init__(
        self,
        *,
        local: bool = False,
        stack: str | None = None,
        profile: str | None = None,
        region: str | None = None,
        as_json: bool = False,
    ) -> None:
        """Keep the options; nothing is looked up or connected yet."""
        self.out = Output(as_json=as_json)
        self._find = functools.partial(
            targets.find, local=local, stack=stack, profile=profile, region=region
        )

    @functools.cached_property
    def target(self) -> Target:
        """The stack that the options name; raises what :func:`cli.target.find` does."""
        return self._find()

    def end(self, code: int) -> NoReturn:
        """End the verb with ``code``."""
        raise typer.Exit(code)


def verb(app: typer.Typer, name: str | None = None) -> Callable[[Any], Any]:
    """Make a function a verb of ``app``; it gets a :class:`Session` first.

    The options of every verb are added to its own. What goes wrong on the way
    to the stack is told in one sentence, never as a stack trace.
    """

    def add(function: Callable[..., None]) -> Callable[..., None]:
        own = list(inspect.signature(function, eval_str=True).parameters.values())[1:]

        @functools.wraps(function)
        def command(**given: Any) -> None:
            session = Session(**{option: given.pop(option) for option in SHARED})
            try:
                function(session, **given)
            except CliError as error:
                session.out.complain(error)
            except (Unavailable, BotoCoreError) as error:
                session.out.complain(OutOfReachError(_sentence(error)))
            except (Misconfigured, ClientError, UnreadableClockError) as error:
                session.out.complain(CliError(_sentence(error)))

        parameters = [*own, *_shared()]
        command.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
        command.__annotations__ = {p.name: p.annotation for p in parameters}
        app.command(name)(command)
        return function

    return add


def _shared() -> list[inspect.Parameter]:
    return [
        inspect.Parameter(
            name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=kind
        )
        for name, (kind, default) in SHARED.items()
    ]


def _sentence(error: Exception) -> str:
    return " ".join(str(error).split())
