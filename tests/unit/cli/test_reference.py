"""The page about the command line says what the command line does."""

from __future__ import annotations

from pathlib import Path

from cli import reference

PAGE = Path(__file__).parents[3] / "docs/reference/cli.md"


def test_page_is_what_the_verbs_say_of_themselves() -> None:
    written = PAGE.read_text(encoding="utf-8")

    assert written == reference.page(), (
        "python -m cli.reference > docs/reference/cli.md"
    )


def test_page_explains_every_verb() -> None:
    page = reference.page()

    for verb in (
        "send SOURCE [EVENT]",
        "secret rotate SOURCE",
        "show EVENT_ID",
        "relay",
    ):
        assert f"`bellhop {verb}" in page
