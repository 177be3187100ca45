"""An agent that would fail at its first event is told of when the fleet is read."""

from __future__ import annotations

from pathlib import Path

import pytest

from lambdas.shared.fleet import parse
from local import synth
from stacks import agent_files

FLEET = """
[sources.github]
[agents.triage]
run = "agents.triage:run"
on = [{ source = "github", kind = "ping" }]
"""


def told(tmp_path: Path, text: str | None, run: str = "agents.triage:run") -> list[str]:
    """Return the faults of a fleet that brings this agent along."""
    (tmp_path / "agents").mkdir()
    if text is not None:
        (tmp_path / "agents" / "triage.py").write_text(text, encoding="utf-8")
    fleet = parse(FLEET.replace("agents.triage:run", run))
    return agent_files.faults(fleet, tmp_path / "fleet.toml")


@pytest.mark.parametrize(
    "text",
    [
        "def run(event, run): ...",
        "from somewhere import run",
        "from somewhere import work as run",
        "from somewhere import *",
        "run = object()",
        "run: object = 3",
        "try:\n    import x\nexcept ImportError:\n    def run(e, r): ...",
        "import somewhere as run",
        "class run: ...",
        "@plain\nasync def run(event, run): ...",
        "globals()['run'] = print",
        "def run(e, r):\n    def inner():\n        yield 1\n    return [*inner()]",
    ],
)
def test_function_that_is_there_is_found_however_it_came(
    tmp_path: Path, text: str
) -> None:
    assert told(tmp_path, text) == []


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            "def runs(event, run): ...",
            "agents/triage.py has no run; did you mean 'runs'?",
        ),
        ("def other():\n    def run(): ...", "agents/triage.py has no run"),
        ("class A:\n    def run(self): ...", "agents/triage.py has no run"),
        ("", "agents/triage.py has no run"),
        (
            "async def run(event, run): ...",
            "agents/triage.py: run is async or a generator; want a plain function",
        ),
        (
            "def run(event, run):\n    yield 1",
            "agents/triage.py: run is async or a generator; want a plain function",
        ),
        ("x = 1\ndef run(", "agents/triage.py is no Python, in line 2"),
        ("x = '\0'", "agents/triage.py is no Python"),
        (None, "there is no agents/triage.py"),
    ],
)
def test_what_would_fail_at_the_first_event_is_told(
    tmp_path: Path, text: str | None, said: str
) -> None:
    assert told(tmp_path, text) == [f"fleet.toml: agents.triage.run: {said}"]


def test_file_is_read_and_not_run(tmp_path: Path) -> None:
    bomb = "raise SystemExit\ndef run(event, run): ..."

    assert told(tmp_path, bomb) == []


def test_agents_of_the_project_serve_a_fleet_without_its_own(tmp_path: Path) -> None:
    assert told(tmp_path, None, run="agents.hello:run") == []
    fleet = parse(FLEET.replace("agents.triage:run", "agents.hello:rum"))
    (said,) = agent_files.faults(fleet, tmp_path / "fleet.toml")
    assert said.endswith("agents/hello.py has no rum; did you mean 'run'?")


def test_code_of_a_package_is_not_looked_at(tmp_path: Path) -> None:
    assert told(tmp_path, None, run="ourcompany.agents:triage") == []


def test_local_stack_warns_of_what_the_app_warns_of(tmp_path: Path) -> None:
    (tmp_path / "agents").mkdir()
    (tmp_path / "agents" / "triage.py").write_text("def rum(e, r): ...")
    night = '[schedules.x]\nagent = "triage"\ncron = "30 2 * * ? *"\n'
    fleet = tmp_path / "fleet.toml"
    fleet.write_text(f'{FLEET}{night}timezone = "Europe/Berlin"', encoding="utf-8")

    warned = synth.warnings(fleet)

    assert any("schedules.x.cron: fires at 02:30" in text for text in warned)
    assert any("agents/triage.py has no run" in text for text in warned)
