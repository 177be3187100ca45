"""A program that writes a command wrongly reads JSON, as it does of all else."""

from __future__ import annotations

import json

import pytest
from typer.testing import CliRunner

from cli.main import app


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["send"], "Missing argument 'source'"),
        (["nosuch"], "No such command 'nosuch'"),
        (["events", "--nope"], "No such option: --nope"),
        (["events", "--since"], "--since"),
        (["send", "github", "--burst", "many"], "--burst"),
        (["replay", "--rate", "0"], "0"),
        (["secret"], "--json"),
    ],
)
def test_mistake_of_use_is_json_where_json_was_asked_for(
    words: list[str], said: str
) -> None:
    asked = [words[0], "--json", *words[1:]]

    answered = CliRunner().invoke(app, asked)

    assert answered.exit_code == 2
    assert answered.stdout == ""
    assert said in json.loads(answered.stderr)["error"]


def test_mistake_of_use_is_a_persons_to_read_otherwise() -> None:
    answered = CliRunner().invoke(app, ["send"])

    assert answered.exit_code == 2
    assert "Usage: " in answered.stderr


def test_word_behind_two_dashes_is_no_option() -> None:
    answered = CliRunner().invoke(app, ["nosuch", "--", "--json"])

    assert "Usage: " in answered.stderr


def test_help_is_help_in_either_case() -> None:
    answered = CliRunner().invoke(app, ["send", "--json", "--help"])

    assert answered.exit_code == 0
    assert "Usage: " in answered.stdout


def test_code_of_a_verb_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BELLHOP_STACK", "")

    answered = CliRunner().invoke(app, ["send", "github", "--url", "ftp://x", "--json"])

    assert answered.exit_code == 2
    assert "--url" in json.loads(answered.stderr)["error"]
