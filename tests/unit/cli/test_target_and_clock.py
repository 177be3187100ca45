"""The local stack is found by its file, and its clock is moved by another."""

from __future__ import annotations

import json
import os
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from cli.main import app
from cli.output import UsageError
from cli.target import find
from cli.times import duration, instant
from lambdas.shared.outside import address

NOW = datetime(2026, 11, 29, 12, 0, tzinfo=UTC)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where the local stack would say how it is reached; empty."""
    monkeypatch.setenv("BELLHOP_LOCAL_FOLDER", str(tmp_path))
    return tmp_path


def up(folder: Path, **changed: Any) -> None:
    """Say that a local stack runs, as `make up` does."""
    stack = {
        "schema": 1,
        "pid": os.getpid(),
        "endpoint": "http://127.0.0.1:9",
        "region": "eu-central-1",
        "access_key_id": "test",
        "secret_access_key": "test",
        "stack_name": "Bellhop",
        "api_url": "http://127.0.0.1:9/api",
        "outputs": {},
        "ledger_table": "ledger",
        "bus": "bus",
        "payload_bucket": "payloads",
        "secrets": {"github": "bellhop/github"},
        "world_url": "http://127.0.0.1:9",
        "clock_file": str(folder / "clock"),
        "log_dir": str(folder / "logs"),
        **changed,
    }
    (folder / "stack.json").write_text(json.dumps(stack), encoding="utf-8")


def run(*words: str) -> tuple[int, str, str]:
    result = CliRunner().invoke(app, list(words))
    return result.exit_code, result.stdout, result.stderr


def shown() -> datetime:
    """Return the time as `clock show` tells it."""
    code, out, _ = run("clock", "show", "--local", "--json")
    assert code == 0
    return datetime.fromisoformat(json.loads(out)["now"])


def test_local_stack_that_is_not_up_ends_with_3(folder: Path) -> None:
    code, _, err = run("events", "--local")

    assert code == 3
    assert err == "bellhop: the local stack is not up; start it with `make up`\n"


def test_what_is_called_for_a_local_stack_is_its_outside_world_and_then_the_real_one(
    folder: Path,
) -> None:
    up(folder)

    target = find(local=True, stack=None, profile=None, region=None)
    with target.outside():
        within = address("https://feeds.example/team.ics")

    assert within == "http://127.0.0.1:9/feeds.example/team.ics"
    assert address("https://feeds.example/") == "https://feeds.example/"


def test_fleet_of_a_local_stack_is_the_one_that_was_deployed(folder: Path) -> None:
    up(folder)
    (folder / "fleet.toml").write_text("[sources.dock]\nsender = 'stripe'\n")

    target = find(local=True, stack=None, profile=None, region=None)

    assert list(target.fleet.sources) == ["dock"]


def test_local_stack_that_died_ends_with_3(folder: Path) -> None:
    up(folder, pid=2**22 - 1)

    code, _, err = run("events", "--local")

    assert code == 3
    assert "has ended without a word" in err


@pytest.mark.parametrize(
    "text",
    [b"", b'{"pid":', b"[]", b"{}", b'{"pid": "x"}', b'{"pid": 1e30}', b"\xff"],
)
def test_broken_file_of_the_local_stack_ends_with_3(folder: Path, text: bytes) -> None:
    (folder / "stack.json").write_bytes(text)

    code, out, err = run("events", "--local", "--json")

    assert (code, out) == (3, "")
    assert "does not say how the local stack is reached" in json.loads(err)["error"]


def test_clock_that_cannot_be_read_is_one_sentence(folder: Path) -> None:
    up(folder)
    (folder / "clock").write_text("+99999999999999")

    code, _, err = run("clock", "show", "--local")

    assert code == 1
    assert err.startswith("bellhop: BELLHOP_CLOCK_FILE: want an RFC 3339 time")
    assert err.count("\n") == 1


def test_complaint_is_json_for_a_program(folder: Path) -> None:
    code, out, err = run("events", "--local", "--json")

    assert (code, out) == (3, "")
    assert json.loads(err)["error"].startswith("the local stack is not up")


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["--local", "--stack", "Bellhop"], "exclude each other"),
        (["--profile", "mine"], "need --stack NAME"),
        ([], "say --stack NAME"),
    ],
)
def test_no_account_is_reached_without_being_named(
    folder: Path, words: list[str], told: str
) -> None:
    code, _, err = run("events", *words)

    assert code == 2
    assert told in err


def test_clock_runs_on_from_where_it_was_set(folder: Path) -> None:
    up(folder)

    run("clock", "set", "2030-01-01T00:00:00Z", "--local")

    late = shown() - datetime(2030, 1, 1, tzinfo=UTC)
    assert timedelta(0) <= late < timedelta(seconds=30)
    assert (folder / "clock").read_text()[0] == "+"


@pytest.mark.parametrize(
    "words",
    [
        ["set", "9999-12-31T23:59:59Z"],
        ["set", "0001-01-01T00:00:00Z"],
        ["advance", "900000d"],
    ],
)
def test_clock_stays_where_times_can_be_added(folder: Path, words: list[str]) -> None:
    up(folder)

    code, _, err = run("clock", *words, "--local")

    assert (code, (folder / "clock").exists()) == (2, False)
    assert "2999" in err


def test_frozen_clock_moves_only_when_told(folder: Path) -> None:
    up(folder)

    run("clock", "set", "2030-01-01T00:00:00Z", "--frozen", "--local")
    before = shown()
    run("clock", "advance", "1h30m", "--local")

    assert before == datetime(2030, 1, 1, tzinfo=UTC)
    assert shown() == datetime(2030, 1, 1, 1, 30, tzinfo=UTC)


def test_advances_add_up_and_real_takes_them_back(folder: Path) -> None:
    up(folder)

    run("clock", "advance", "1d", "--local")
    run("clock", "advance", "2h", "--local")
    ahead = shown() - datetime.now(UTC)
    run("clock", "set", "real", "--local")

    assert abs(ahead - timedelta(hours=26)) < timedelta(seconds=30)
    assert abs(shown() - datetime.now(UTC)) < timedelta(seconds=30)


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("90s", 90), ("15m", 900), ("2h", 7200), ("1d12h", 129_600), ("0.5h", 1800)],
)
def test_duration_is_read(text: str, seconds: float) -> None:
    assert duration(text) == timedelta(seconds=seconds)


@pytest.mark.parametrize("text", ["", "2", "h", "2 h", "-2h", "2h!", "9" * 20 + "d"])
def test_what_is_no_duration_is_refused(text: str) -> None:
    with pytest.raises(UsageError):
        duration(text)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2h", NOW - timedelta(hours=2)),
        ("2026-11-29T10:00:00Z", NOW - timedelta(hours=2)),
        ("2026-11-29T11:00:00+01:00", NOW - timedelta(hours=2)),
        ("2026-11-29", NOW - timedelta(hours=12)),
    ],
)
def test_instant_is_a_time_or_how_long_ago(text: str, expected: datetime) -> None:
    assert instant(text, NOW) == expected


def test_a_stack_without_a_region_says_how_to_name_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("AWS_DEFAULT_REGION", "AWS_PROFILE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "none"))

    code, _, err = run("events", "--stack", "Bellhop")

    assert code == 3
    assert "stack Bellhop: no region; say --region" in err


@pytest.mark.parametrize("text", ["yesterday", "99999999d", ""])
def test_what_is_no_instant_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match=r"want an RFC 3339 time"):
        instant(text, NOW)


@pytest.mark.parametrize(
    "words",
    [
        ["send"],
        ["events"],
        ["tail"],
        ["show"],
        ["resolve"],
        *(["secret", name] for name in ("set", "rotate", "retire", "status")),
        *(["clock", name] for name in ("show", "set", "advance")),
    ],
    ids=" ".join,
)
def test_every_verb_explains_itself_and_takes_the_same_options(
    words: list[str],
) -> None:
    code, out, _ = run(*words, "--help")

    assert code == 0
    for option in ("--local", "--stack", "--profile", "--region", "--json"):
        assert option in out


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_shell_completion_offers_the_verbs(
    shell: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("_BELLHOP_COMPLETE", f"complete_{shell}")
    monkeypatch.setenv("COMP_WORDS", "bellhop ")
    monkeypatch.setenv("COMP_CWORD", "1")
    monkeypatch.setenv("_TYPER_COMPLETE_ARGS", "bellhop ")
    monkeypatch.setenv("_TYPER_COMPLETE_FISH_ACTION", "get-args")

    result = CliRunner().invoke(app, [], prog_name="bellhop")

    assert "resolve" in result.stdout


def test_colour_is_left_out_where_nobody_sees_it(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    up(folder)
    monkeypatch.setenv("NO_COLOR", "1")

    _, out, _ = run("clock", "show", "--local")

    assert "\x1b" not in out
