"""``python app.py`` as people run it: in a bare environment, on wrong fleets too."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.infra.conftest import SMALL, read

ROOT = Path(__file__).resolve().parents[2]

# More than one stack holds: each agent makes about ten resources.
CROWD = SMALL + "".join(
    f'[agents.a-{number}]\nrun = "agents.hello:run"\n'
    f'on = [{{ source = "github", kind = "k-{number}" }}]\n'
    for number in range(45)
)

BROKEN = {
    "not toml": ("[sources", "fleet.toml: not TOML: "),
    "times out too late": (
        f"{SMALL}timeout_seconds = 901",
        "fleet.toml: agents.triage.timeout_seconds: want 1 to 900, got 901",
    ),
    "receives too seldom": (
        f"{SMALL}max_receives = 2",
        "fleet.toml: agents.triage.max_receives: want 3 to 10, got 2",
    ),
    "no function": (
        SMALL.replace("agents.hello:run", "triage"),
        "fleet.toml: agents.triage.run: want 'module:function', got 'triage'",
    ),
    "too broad": (
        SMALL.replace(', kind = "issues.opened"', ""),
        "fleet.toml: agents.triage.on[0].kind: too broad",
    ),
    "unknown source": (
        SMALL.replace('source = "github"', 'source = "gitbub"'),
        "did you mean 'github'?",
    ),
    "unknown sender": (
        f'{SMALL}[sources.x]\nsender = "nobody"',
        "fleet.toml: sources.x.sender: ",
    ),
    "wildcard grant": (
        f'{SMALL}allow = [{{ actions = ["s3:*"], resources = ["arn:aws:s3:::b"] }}]',
        "without wildcards",
    ),
    "forgets too soon": (
        f"[fleet]\nledger_days = 10\n{SMALL}",
        "fleet.toml: fleet.ledger_days: want at least 19",
    ),
    "a day that no year has": (
        f'{SMALL}[schedules.x]\nagent = "triage"\ncron = "0 6 31 2 ? *"',
        "never fires: no year of it has such a day; the next five fires: none",
    ),
    "a time that does not exist": (
        f'{SMALL}[schedules.x]\nagent = "triage"\nat = "2099-03-29T02:30:00"\n'
        'timezone = "Europe/Berlin"',
        "schedules.x.at: want a time that exists",
    ),
    "two schedules of one name": (
        f'{SMALL}[schedules.x]\nrate = "1 day"\n[schedules.x]\nrate = "2 days"',
        "fleet.toml: not TOML: Cannot declare ('schedules', 'x') twice",
    ),
    "too many agents": (
        CROWD,
        "450 fit one stack: move some agents",
    ),
}


def _app(
    fleet: Path,
    outdir: Path,
    *,
    before: tuple[str, ...] = (),
    program: tuple[str, ...] = (str(ROOT / "app.py"),),
    **environ: str,
) -> subprocess.CompletedProcess[str]:
    """Run ``app.py`` with nothing in the environment but what a shell would set."""
    bare = {
        "PATH": os.environ["PATH"],
        # CDK unpacks itself below it once, which takes longer than all the rest.
        "HOME": str(Path.home()),
        "BELLHOP_FLEET": str(fleet),
        "CDK_OUTDIR": str(outdir),
        **environ,
    }
    return subprocess.run(
        [*before, sys.executable, *program],
        env=bare,
        cwd=fleet.parent,
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )


@pytest.fixture
def alone() -> tuple[str, ...]:
    """What runs a command in a namespace that has no interface at all."""
    unshare = shutil.which("unshare")
    if unshare is None:
        pytest.skip("no unshare on this machine to take the network away")
    alone = (unshare, "--net", "--map-root-user")
    probe = subprocess.run([*alone, "true"], capture_output=True, check=False)
    if probe.returncode != 0:
        pytest.skip("this machine does not permit a network namespace")
    return alone


@pytest.fixture
def fleet(tmp_path: Path) -> Path:
    """A fleet file that can be deployed."""
    path = tmp_path / "fleet.toml"
    path.write_text(SMALL, encoding="utf-8")
    return path


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_fleet_is_told_without_a_traceback(
    fleet: Path, tmp_path: Path, name: str
) -> None:
    text, message = BROKEN[name]
    fleet.write_text(text, encoding="utf-8")

    done = _app(fleet, tmp_path / "out")

    assert done.returncode == 1
    assert message in done.stderr
    assert "Traceback" not in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1
    assert not (tmp_path / "out" / "Bellhop.template.json").exists()


def test_every_problem_is_told_at_once_one_a_line(fleet: Path, tmp_path: Path) -> None:
    fleet.write_text(
        f"{SMALL}timeout_seconds = 0\nmax_receives = 11\nwhat = 1", encoding="utf-8"
    )

    told = _app(fleet, tmp_path / "out").stderr.strip().splitlines()

    assert len(told) == 3
    assert all(line.startswith("fleet.toml: agents.triage.") for line in told)


def test_a_risky_local_time_is_warned_of_and_deployed_all_the_same(
    fleet: Path, tmp_path: Path
) -> None:
    fleet.write_text(
        f'{SMALL}[schedules.x]\nagent = "triage"\ncron = "30 2 * * ? *"\n'
        'timezone = "Europe/Berlin"',
        encoding="utf-8",
    )

    done = _app(fleet, tmp_path / "out", CDK_VALIDATION="false")

    assert done.returncode == 0, done.stderr
    assert "warning: fleet.toml: schedules.x.cron: fires at 02:30" in done.stderr
    assert "the next five fires: " in done.stderr


def test_an_agent_whose_file_is_missing_is_warned_of(
    fleet: Path, tmp_path: Path
) -> None:
    hello = SMALL.replace("agents.triage:run", "agents.hello:run")
    fleet.write_text(
        f'{hello}[agents.lost]\nrun = "agents.lots:run"\n'
        'on = [{ source = "github", kind = "ping" }]',
        encoding="utf-8",
    )

    done = _app(fleet, tmp_path / "out", CDK_VALIDATION="false")

    assert done.returncode == 0, done.stderr
    warned = [line for line in done.stderr.splitlines() if line.startswith("warning:")]
    assert warned == [
        "warning: fleet.toml: agents.lost.run: there is no agents/lots.py"
    ]


def test_a_pinned_fleet_is_not_synthesised_for_another_region(
    fleet: Path, tmp_path: Path
) -> None:
    fleet.write_text(f'[fleet]\nregion = "eu-west-1"\n{SMALL}', encoding="utf-8")

    done = _app(fleet, tmp_path / "out", CDK_DEFAULT_REGION="us-east-1")

    assert done.returncode == 1
    assert "want the AWS profile to say eu-west-1, got us-east-1" in done.stderr


def test_holidays_that_nobody_knows_are_refused_before_anything_is_deployed(
    fleet: Path, tmp_path: Path
) -> None:
    rules = 'rules = [{ category = "month-end-close", agent = "triage" }]\n'
    books = f'[calendars.books]\nholidays = "DE-XX"\n{rules}'
    fleet.write_text(
        f"{SMALL}\n{books}\n{books.replace('books', 'board').replace('DE-XX', 'ZZ')}",
        encoding="utf-8",
    )

    done = _app(fleet, tmp_path / "out")

    assert done.returncode == 1
    want = "holidays: want a country, or a part of one, whose holidays are known"
    assert done.stderr.splitlines() == [
        f"fleet.toml: calendars.books: {want}, got 'DE-XX'",
        f"fleet.toml: calendars.board: {want}, got 'ZZ'",
    ]


def test_the_example_fleet_is_clean_and_needs_no_network(
    tmp_path: Path, alone: tuple[str, ...]
) -> None:
    """With cdk-nag on."""
    fleet = tmp_path / "fleet.toml"
    shutil.copyfile(ROOT / "fleet.toml", fleet)

    done = _app(fleet, tmp_path / "out", before=alone, HOME=str(tmp_path))

    assert done.returncode == 0, done.stderr
    assert (tmp_path / "out" / "validation-report.json").exists()
    assert read(tmp_path / "out").outputs()["ApiUrl"]


def test_containers_are_synthesised_without_docker_and_without_network(
    fleet: Path, tmp_path: Path, alone: tuple[str, ...]
) -> None:
    """Their image is built when it is deployed, from the folder that lies there."""
    fleet.write_text(f'{SMALL}compute = "fargate"\n', encoding="utf-8")
    nothing = tmp_path / "nothing"
    nothing.mkdir()

    done = _app(
        fleet,
        tmp_path / "out",
        before=alone,
        HOME=str(tmp_path),
        PATH=str(nothing),
        CDK_VALIDATION="false",
    )

    assert done.returncode == 0, done.stderr
    assets = (tmp_path / "out/Bellhop.assets.json").read_text(encoding="utf-8")
    (image,) = json.loads(assets)["dockerImages"].values()
    assert image["source"]["platform"] == "linux/arm64"
    folder = tmp_path / "out" / image["source"]["directory"]
    assert {each.name for each in folder.iterdir()} == {"Dockerfile", "task"}


def test_cdk_nag_stops_what_nobody_acknowledged(fleet: Path, tmp_path: Path) -> None:
    """So that its silence above says something: without our reasons it speaks."""
    unexcused = (
        "from stacks import nag; nag.accept = lambda *a, **k: None\n"
        "import app; app.main()"
    )

    done = _app(
        fleet, tmp_path / "out", program=("-c", unexcused), PYTHONPATH=str(ROOT)
    )

    assert done.returncode == 1
    for rule in ("SQS3", "SMG4", "APIG4", "S1", "L1", "IAM5"):
        assert f"AwsSolutions-{rule}" in done.stdout + done.stderr
