"""What goes into a function's zip, and what does not."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import boto3
import pytest

from lambdas.shared.errors import Misconfigured
from lambdas.shared.senders import traits
from local.setup.deps import zipped_bytes
from stacks import packaging
from tests.unit.receiver import signed

# More than this slows the cold start of every function.
CORE_BUDGET_BYTES = 2_300_000


@pytest.fixture
def fleet(tmp_path: Path) -> Path:
    """A fleet file; its content makes the staged folder this test's own."""
    path = tmp_path / "tiny.toml"
    path.write_text(f"# {tmp_path}\n")
    return path


@pytest.fixture
def build(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A ``.build`` of its own, with the sets of the real one."""
    mine = tmp_path / "build"
    mine.mkdir()
    for target in (packaging.AWS, packaging.HERE):
        for name in packaging.SETS:
            real = packaging.installed(name, target)
            (mine / real.name).symlink_to(real)
    monkeypatch.setattr(packaging, "BUILD", mine)
    return mine


@pytest.mark.usefixtures("build")
def test_core_asset_stays_within_its_budget(
    fleet: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """With as many senders as a busy fleet has."""
    names = ("github", "slack", "stripe", "linear", "svix", "shopify", "pagerduty")
    fleet.write_text("".join(f"[sources.{name}]\n" for name in names))

    asset = packaging.stage(["core"], fleet)

    size = zipped_bytes(asset)

    with capsys.disabled():
        print(f"\nthe core asset is {size / 1e6:.2f} MB zipped")  # noqa: T201
    assert size <= CORE_BUDGET_BYTES


@pytest.mark.usefixtures("build")
def test_asset_holds_code_fleet_and_nothing_of_this_machine(
    fleet: Path,
) -> None:
    asset = packaging.stage(["core"], fleet)

    names = {path.name for path in asset.iterdir()}
    assert {"lambdas", "fleet.toml", "aws_lambda_powertools"} <= names
    assert not names & {"agents", "stacks", "cli", "local", "tests", "boto3", "bin"}
    assert (asset / "fleet.toml").read_bytes() == fleet.read_bytes()
    assert not list(asset.glob("lambdas/requirements*"))
    tags = {path.name.split(".")[1] for path in asset.rglob("*.pyc")}
    assert tags <= {"cpython-313"}


@pytest.mark.usefixtures("build")
def test_only_the_senders_of_the_fleet_are_in_it(fleet: Path) -> None:
    fleet.write_text(
        '[sources.github]\n[sources.mail]\nsender = "resend"\n[sources.box]\n'
    )

    asset = packaging.stage(["core"], fleet)

    found = {path.stem for path in asset.glob("lambdas/receiver/senders/*.py")}
    # Resend's stands on that of Standard Webhooks.
    assert found == {"__init__", "github", "resend", "box", "standard_webhooks"}


@pytest.mark.usefixtures("build")
def test_agents_go_only_where_their_dependencies_go(fleet: Path) -> None:
    asset = packaging.stage(["agents"], fleet)

    assert (asset / "agents/__init__.py").is_file()
    assert (asset / "httpx").is_dir()
    assert not (asset / "agents/requirements.txt").exists()


@pytest.mark.usefixtures("build")
def test_same_content_gives_the_same_folder_and_other_content_another(
    fleet: Path,
) -> None:
    first = packaging.stage(["core", "senders"], fleet)
    again = packaging.stage(["senders"], fleet)
    fleet.write_text("# changed\n")
    changed = packaging.stage(["senders"], fleet)

    assert first == again
    assert first != changed


def test_staging_twice_at_once_leaves_one_whole_folder(
    fleet: Path, build: Path
) -> None:
    with ThreadPoolExecutor(4) as pool:
        staged = set(pool.map(lambda _: packaging.stage(["core"], fleet), range(4)))

    (asset,) = staged
    assert (asset / "fleet.toml").is_file()
    assert not list(build.glob("staging-*"))


def test_set_that_brings_the_same_file_again_leaves_the_other_set_alone(
    fleet: Path, build: Path
) -> None:
    """Assets are hard links: writing through one would change the set itself."""
    core, agents = packaging.folder("core"), packaging.folder("agents")
    for mine in (core, agents):  # copies, to spoil without harm
        real = mine.resolve()
        mine.unlink()
        shutil.copytree(real, mine)
    (agents / "typing_extensions.py").unlink()
    (agents / "typing_extensions.py").write_text("# the agents' own\n")
    before = (core / "typing_extensions.py").read_bytes()

    asset = packaging.stage(["agents"], fleet)

    assert (asset / "typing_extensions.py").read_text() == "# the agents' own\n"
    assert (core / "typing_extensions.py").read_bytes() == before


FUNCTIONS = {"receiver": ["senders"], "worker": ["agents"], "relay": [], "sweep": []}
FUNCTIONS |= {"cron": ["zones"], "watcher": ["zones"]}
FUNCTIONS |= {"planner": ["zones", "calendars"], "poller": ["feeds"]}
IN_THE_RUNTIME = ("boto3", "botocore", "s3transfer", "urllib3", "jmespath", "dateutil")


@pytest.mark.parametrize("function", FUNCTIONS)
def test_function_starts_with_nothing_but_its_asset_and_boto3(
    function: str, fleet: Path, build: Path
) -> None:
    """A dependency that only the dev environment has would be found here."""
    asset = packaging.stage(FUNCTIONS[function], fleet, local=True)
    runtime = build / "runtime"
    runtime.mkdir()
    site_packages = Path(boto3.__file__).parent.parent
    for name in (*IN_THE_RUNTIME, "six.py"):
        (runtime / name).symlink_to(site_packages / name)
    program = (
        "import sys; sys.path[:0] = sys.argv[1:]\n"
        f"from lambdas.{function}.handler import handle\n"
        "import lambdas; print(lambdas.__file__)"
    )

    done = subprocess.run(
        [sys.executable, "-I", "-S", "-W", "error", "-c", program, asset, runtime],
        env={},
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith(str(asset))


@pytest.mark.parametrize("function", ["planner", "worker"])
def test_google_s_library_signs_with_nothing_but_the_asset(
    function: str, fleet: Path, build: Path
) -> None:
    asset = packaging.stage(FUNCTIONS[function], fleet, local=True)
    program = (
        "import sys; sys.path.insert(0, sys.argv[1])\n"
        "from cryptography.hazmat.primitives.asymmetric import rsa\n"
        "from google.auth.crypt import RSASigner\n"
        "from google.oauth2 import credentials, service_account\n"
        "key = rsa.generate_private_key(public_exponent=65537, key_size=2048)\n"
        "print(len(RSASigner(key).sign(b'assertion')))"
    )

    done = subprocess.run(
        [sys.executable, "-I", "-S", "-W", "error", "-c", program, asset],
        env={},
        capture_output=True,
        text=True,
        check=False,
    )

    assert (done.returncode, done.stdout) == (0, "256\n"), done.stderr


@pytest.mark.parametrize("function", FUNCTIONS)
def test_google_s_library_is_only_where_it_is_used(function: str, fleet: Path) -> None:
    asset = packaging.stage(FUNCTIONS[function], fleet)

    assert (asset / "google").is_dir() == (function in {"planner", "worker"})


def test_zones_are_known_without_those_of_the_machine(fleet: Path, build: Path) -> None:
    """Lambda's own image promises none."""
    asset = packaging.stage(["zones"], fleet, local=True)
    program = (
        "import sys; sys.path.insert(0, sys.argv[1])\n"
        "import zoneinfo; zoneinfo.reset_tzpath(to=[])\n"
        "from datetime import UTC, datetime\n"
        "from lambdas.shared.cron import times_from\n"
        "times = times_from('cron(0 6 * * ? *)', 'Europe/Berlin', anchor=None)\n"
        "print(next(times.after(datetime(2026, 7, 1, tzinfo=UTC))))"
    )

    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", program, asset],
        env={},
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.stdout.strip() == "2026-07-01 04:00:00+00:00", done.stderr


VERIFY = """
import json, sys
sys.path[:0] = sys.argv[1:]
from datetime import datetime
from lambdas.receiver import senders
from lambdas.receiver.request import from_api_gateway
from lambdas.shared.fleet import Source

told = json.load(sys.stdin)
source = Source(secret_name="it", **told["source"])
def fetch(url, allowed, newer_than=None):
    assert allowed.allows(url)
    return told["pages"][url].encode()
now = datetime.fromisoformat(told["now"])
request = from_api_gateway(told["event"], source, now, fetch)
print(senders.load(source).proof.verify(request, [told["secret"]], now))
"""


@pytest.mark.parametrize(
    "name", [name for name in signed.NAMES if traits(name).needs == "senders"]
)
def test_key_pairs_verify_with_nothing_but_the_asset(
    name: str, fleet: Path, build: Path
) -> None:
    fleet.write_text(f"[sources.it]\nsender = '{name}'\n")
    asset = packaging.stage(["senders"], fleet, local=True)
    about = signed.about(name)
    told = {
        "event": signed.call(name).to_api_gateway("it"),
        "source": {"name": "it", "sender": name, "options": about["more"]},
        "pages": about["more"]["pages"],
        "secret": about["secret"],
        "now": about["now"].isoformat(),
    }

    done = subprocess.run(
        [sys.executable, "-I", "-S", "-W", "error", "-c", VERIFY, asset],
        env={},
        input=json.dumps(told),
        capture_output=True,
        text=True,
        check=False,
    )

    assert (done.returncode, done.stdout) == (0, "0\n"), done.stderr


def test_set_that_is_not_built_is_one_sentence(
    fleet: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(packaging, "BUILD", tmp_path / "nothing")

    with pytest.raises(Misconfigured, match=r"'core' for .* run `make deps`$"):
        packaging.stage(["core"], fleet)


def test_byte_code_is_used_without_a_look_at_the_source(
    fleet: Path, build: Path
) -> None:
    """A zip loses times: byte-code bound to them would be compiled at every start."""
    asset = packaging.stage(["core"], fleet, local=True)
    copy = build / "elsewhere"
    shutil.copytree(asset, copy)
    for source in (copy / "lambdas").rglob("*.py"):
        os.utime(source, (0, 0))

    done = subprocess.run(
        [sys.executable, "-B", "-v", "-c", "import lambdas.shared.clock"],
        cwd=copy,
        env={"PYTHONPATH": str(copy)},
        capture_output=True,
        text=True,
        check=True,
    )

    told = [line for line in done.stderr.splitlines() if "clock" in line]
    assert any("code object from" in line and ".pyc" in line for line in told), told
