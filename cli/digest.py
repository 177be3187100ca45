"""`bellhop digest`: what the morning's message would say now."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from cli import letters
from cli.output import CliError, UsageError
from cli.session import Session, verb
from cli.slack_page import as_html, as_text
from lambdas.dlq_digest import blocks

Preview = Annotated[
    bool, typer.Option("--preview", help="Show the message; nothing is sent.")
]
Page = Annotated[
    Path | None,
    typer.Option("--html", help="Draw it as a page into this file.", metavar="FILE"),
]


def register(app: typer.Typer) -> None:
    """Add the verb."""
    verb(app, "digest")(digest)


def digest(session: Session, *, preview: Preview = False, page: Page = None) -> None:
    """Show the message that a digest would send now; nothing is sent.

    With --json it is what Slack is given, ready for its Block Kit Builder.
    """
    if not preview:
        raise UsageError("the digest is sent by its schedule; say --preview to see it")
    target = session.target
    message = blocks.message(letters.report(target), letters.links(target))
    session.out.data(message)
    if not session.out.as_json:
        for line, style in as_text(message):
            session.out.say(line, style)
    if page is not None:
        try:
            page.write_text(as_html(message), encoding="utf-8")
        except OSError as error:
            raise CliError(f"{page}: {error.strerror}") from error
        session.out.say(f"\ndrawn into {page}")
