"""What a good fleet becomes."""

from __future__ import annotations

from dataclasses import FrozenInstanceError
from pathlib import Path

import pytest

from lambdas.shared import patterns
from lambdas.shared.fleet import Fleet, FleetError, deployed, load, parse

_ROOT = Path(__file__).resolve().parents[3]


def _fleet(agent: str, more: str = "") -> Fleet:
    return parse(f"""
        [sources.github]
        [agents.triage]
        run = "agents.triage:run"
        {agent}
        {more}
    """)


def _hears(fleet: Fleet, source: str, kind: str, **facts: object) -> bool:
    envelope = {"source": source, "detail-type": kind, "detail": {"facts": facts}}
    triage = fleet.agents["triage"]
    return any(patterns.matches(each, envelope) for each in triage.own_patterns)


def test_the_example_that_people_deploy_is_good() -> None:
    fleet = load(_ROOT / "fleet.toml")

    assert list(fleet.agents) == ["hello", "issue-triage", "competitive-intel"]
    assert fleet.agents["issue-triage"].module == "agents.issue_triage"
    assert {source.secret_name for source in fleet.sources.values()} == {
        "bellhop/github",
        "bellhop/slack",
        "bellhop/stripe",
        "bellhop/linear",
    }


def test_words_become_an_exact_pattern() -> None:
    fleet = _fleet(
        'on = [{ source = "github", kind = "issues.opened",'
        ' facts = { repository = "a/b", amount = [{ numeric = [">", 5] }] } }]'
    )

    assert fleet.agents["triage"].patterns == (
        {
            "source": ["bellhop.github"],
            "detail-type": ["issues.opened"],
            "detail": {
                "facts": {"repository": ["a/b"], "amount": [{"numeric": [">", 5]}]}
            },
        },
    )


def test_a_star_in_a_kind_is_a_wildcard() -> None:
    fleet = _fleet('on = [{ source = "github", kind = "issues.*" }]')

    assert _hears(fleet, "bellhop.github", "issues.opened")
    assert not _hears(fleet, "bellhop.github", "push")


def test_aws_events_come_from_the_default_bus_and_partners_from_theirs() -> None:
    rule = '{ source = ["aws.codepipeline"], detail-type = ["Failed"] }'
    fleet = _fleet(
        f'on = [{{ pattern = {rule} }}, {{ pattern = {rule}, bus = "aws.partner/x" }},'
        ' { source = "github", kind = "push" }]'
    )

    agent = fleet.agents["triage"]
    assert agent.buses == ("default", "aws.partner/x", "bellhop")
    assert len(agent.own_patterns) == 1


def test_an_agent_hears_its_own_ticks_and_deadlines() -> None:
    fleet = _fleet(
        "",
        """
        [schedules.nightly]
        agent = "triage"
        rate = "1 day"
        [calendars.team]
        rules = [{ category = "month-end", agent = "triage", title = "Close*" }]
        """,
    )

    assert _hears(fleet, "bellhop.cron", "tick", schedule="nightly")
    assert not _hears(fleet, "bellhop.cron", "tick", schedule="weekly")
    assert _hears(fleet, "bellhop.calendar", "month-end", calendar="team")


def test_a_renamed_agent_keeps_its_run_key() -> None:
    fleet = _fleet('was = "sorter"\non = [{ source = "github", kind = "push" }]')

    assert fleet.agents["triage"].key == "sorter"


@pytest.mark.parametrize("seconds", [1, 60, 900])
def test_a_message_stays_hidden_for_six_timeouts(seconds: int) -> None:
    on = 'on = [{ source = "github", kind = "push" }]'
    fleet = _fleet(f"timeout_seconds = {seconds}\n{on}")

    assert fleet.agents["triage"].visibility_seconds == 6 * seconds


def test_a_fleet_cannot_be_changed() -> None:
    fleet = _fleet('on = [{ source = "github", kind = "push" }]')

    with pytest.raises(FrozenInstanceError):
        fleet.agents["triage"].timeout_seconds = 1  # type: ignore[misc]


def test_the_file_named_in_the_environment_is_the_fleet(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "demo.toml"
    path.write_text('[sources.github-eu]\nsender = "github"\n')
    monkeypatch.setenv("BELLHOP_FLEET", str(path))

    assert list(load().sources) == list(deployed().sources) == ["github-eu"]


def test_a_function_starts_without_its_neighbours_senders(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "fleet.toml"
    path.write_text("[sources.nobody-wrote-this]\nown_key = 3\n")
    monkeypatch.setenv("BELLHOP_FLEET", str(path))

    assert deployed().sources["nobody-wrote-this"].options == {"own_key": 3}
    with pytest.raises(FleetError, match="nobody-wrote-this"):
        load()


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(FleetError, match=r"nowhere\.toml: No such file"):
        load(tmp_path / "nowhere.toml")


def test_a_file_that_is_no_text_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "fleet.toml"
    path.write_bytes(b"\xff\xfe")

    with pytest.raises(FleetError, match="want UTF-8 text"):
        load(path)
