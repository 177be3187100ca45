"""Every command that a page gives is one: its verbs, its options, AWS's operations."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import botocore.session
import pytest
import typer
from botocore import xform_name

from cli.main import app

ROOT = Path(__file__).resolve().parents[2]
PAGES = [ROOT / "README.md", *sorted(ROOT.glob("docs/**/*.md"))]
PAGES = [page for page in PAGES if page.name != "cli.md"]

# Not of AWS's API: the AWS command line's own, and what they take.
OWN = {("logs", "tail"): {"since", "filter-pattern", "follow", "format"}}
RENAMED = {"subscribe": {"notification-endpoint"}}
EVERYWHERE = {"profile", "region", "output", "query", "no-cli-pager"}


def commands(page: Path, program: str) -> Iterator[str]:
    """Yield each command of ``program``, in blocks and within sentences."""
    text = page.read_text(encoding="utf-8")
    blocks = text.split("```")[1::2]
    for line in re.sub(r"\\\n\s*", "", "\n".join(blocks)).splitlines():
        said = line.strip().removeprefix(".venv/bin/")
        if said.startswith(f"{program} "):
            yield _alone(said)
    prose = "".join(text.split("```")[::2])
    for said in re.findall(r"`((?:[^`])+)`", prose):
        words = " ".join(said.split()).removeprefix(".venv/bin/")
        if words.startswith(f"{program} ") and not re.search(r"[|…]|\.\.\.", words):
            yield _alone(words)


def _alone(command: str) -> str:
    """Return the command without what a shell does around it."""
    return re.split(r"\s#|\s[|<>](?:\s|$)|\s&&", command.replace("<the ", "the-"))[0]


def every(program: str) -> list[tuple[str, str]]:
    found = {(page, each) for page in PAGES for each in commands(page, program)}
    return sorted((str(page.relative_to(ROOT)), each) for page, each in found)


def understood(words: list[str]) -> None:
    """Let the command line read ``words``, and do nothing."""
    command: Any = typer.main.get_command(app)
    context = None
    name = "bellhop"
    while True:
        context = command.make_context(name, words, parent=context)
        inner = getattr(command, "commands", None)
        if inner is None:
            return
        words = [*context._protected_args, *context.args]
        if not words:
            return  # the group as such was meant
        name, words = words[0], words[1:]
        assert name in inner, f"no verb {name!r}"
        command = inner[name]


def test_pages_hold_many_commands_to_be_checked() -> None:
    assert len(every("bellhop")) > 60
    assert len(every("aws")) > 8


@pytest.mark.parametrize(("page", "command"), every("bellhop"))
def test_verbs_and_options_of_the_command_line_are_there(
    page: str, command: str
) -> None:
    words = shlex.split(command.replace("the-id that was answered>", "ID"))[1:]

    try:
        understood(words)
    except Exception as error:
        # A sentence may name a verb or an option alone.
        if type(error).__name__ not in {"MissingParameter", "BadOptionUsage"}:
            raise


@pytest.mark.parametrize(("page", "command"), every("aws"))
def test_operations_and_parameters_of_aws_are_there(page: str, command: str) -> None:
    _, service, operation, *rest = shlex.split(command, comments=True)
    given = {word[2:].partition("=")[0] for word in rest if word.startswith("--")}

    known = OWN.get((service, operation))
    if known is None:
        model = botocore.session.get_session().get_service_model(
            {"s3api": "s3"}.get(service, service)
        )
        names = {xform_name(n, "-"): n for n in model.operation_names}
        assert operation in names, f"no operation {operation!r} of {service}"
        shape = model.operation_model(names[operation]).input_shape
        members = shape.members if shape is not None else {}
        known = {xform_name(n, "-") for n in members}
        known |= {f"no-{name}" for name in known} | RENAMED.get(operation, set())

    assert given <= known | EVERYWHERE
