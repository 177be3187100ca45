"""What a worker's image holds, and that it is enough."""

from __future__ import annotations

import re
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from lambdas.shared.settings import WorkerSettings
from stacks import packaging
from stacks.fargate import image

# Ours in the image besides `lambdas`: the agents, and what Lambda's image would bring.
OURS = {"agents", "lambdas", "fleet.toml"}
LIBRARIES = ("agents", "container", "core", "zones")

FLEET = """
[sources.github]

[agents.digger]
run = "agents.hello:run"
on = [{ source = "github", kind = "push" }]
compute = "fargate"
"""


@pytest.fixture(scope="module")
def fleet(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A fleet whose worker polls, staged into a ``.build`` of its own."""
    folder = tmp_path_factory.mktemp("image")
    path = folder / "tiny.toml"
    path.write_text(f"# {folder}\n{FLEET}", encoding="utf-8")
    build = folder / "build"
    build.mkdir()
    for target in (packaging.AWS, packaging.HERE):
        for name in packaging.SETS:
            real = packaging.installed(name, target)
            (build / real.name).symlink_to(real)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(packaging, "BUILD", build)
        patched.setattr(image, "BUILD", build)
        yield path


@pytest.fixture(scope="module")
def staged(fleet: Path) -> Path:
    """The folder that the image is built from."""
    return image.stage_image(fleet)


@pytest.fixture(scope="module")
def task(fleet: Path) -> Path:
    """What the image holds, with the libraries of this machine."""
    return image.stage_image(fleet, local=True) / "task"


def _files(folder: Path) -> set[str]:
    return {str(p.relative_to(folder)) for p in folder.rglob("*") if p.is_file()}


def test_image_holds_locked_libraries_our_code_and_the_fleet(staged: Path) -> None:
    libraries = {
        name
        for each in LIBRARIES
        for name in _files(packaging.installed(each))
        if name.split("/")[0] not in OURS
    }
    task = _files(staged / "task")
    ours = {name for name in task if name.split("/")[0] in OURS}

    assert _files(staged) == {"Dockerfile", *(f"task/{name}" for name in task)}
    assert task - ours == libraries
    sources = {name for name in ours if re.match(r"agents/.*\.py$", name)}
    assert sources == {
        str(path.relative_to(packaging.ROOT))
        for path in (packaging.ROOT / "agents").rglob("*.py")
    }


def test_image_holds_no_code_of_ours_that_it_does_not_run(staged: Path) -> None:
    """Nothing of the door, the relay, the clock, the digest, and no Lambda handler."""
    ours = {
        name for name in _files(staged / "task") if re.match(r"lambdas/.*\.py$", name)
    }

    assert {name.split("/")[1] for name in ours} == {"__init__.py", "shared", "worker"}
    assert "lambdas/worker/handler.py" not in ours
    assert "lambdas/shared/adapters/letterbox.py" not in ours
    assert {
        "lambdas/worker/polling/__main__.py",
        "lambdas/worker/polling/child.py",
        "lambdas/worker/runner.py",
    } <= ours


def test_image_holds_nothing_that_only_development_needs(staged: Path) -> None:
    names = _files(staged / "task")
    ours = {name for name in names if name.split("/")[0] in OURS}

    assert not {name for name in ours if "test" in name or "requirements" in name}
    assert not {name for name in names if Path(name).name.startswith(".")}
    assert not {name for name in names if name.endswith((".pyi", ".toml"))} - {
        "fleet.toml"
    }


def test_whoever_it_runs_as_can_read_it(staged: Path) -> None:
    for path in [staged, *staged.rglob("*")]:
        mode = path.stat().st_mode
        needed = stat.S_IROTH | (stat.S_IXOTH if path.is_dir() else 0)
        assert mode & needed == needed, path


def test_dockerfile_runs_nothing_and_ends_as_nobody(staged: Path) -> None:
    """No RUN: an image for another processor is made on any machine."""
    text = (staged / "Dockerfile").read_text(encoding="utf-8")
    lines = [line for line in text.splitlines() if line and not line.startswith("#")]
    words = [line.split()[0] for line in lines]

    assert words == ["FROM", "COPY", "WORKDIR", "ENV", "VOLUME", "USER", "CMD"]
    assert re.fullmatch(
        r"FROM python:3\.13\.\d+-slim-\w+@sha256:[0-9a-f]{64}", lines[0]
    )
    assert lines[1] == "COPY task/ /var/task/"
    assert f"USER {image.USER}" in lines


def test_base_is_the_python_that_the_libraries_are_built_for() -> None:
    (base,) = re.findall(r"^FROM python:(\d+\.\d+)", image.DOCKERFILE.read_text(), re.M)

    assert base == packaging.AWS.python


def test_equal_content_is_staged_once(fleet: Path, task: Path) -> None:
    again = image.stage_image(fleet, local=True)

    assert again / "task" == task
    assert not list(again.parent.glob("staging-*"))


def test_worker_starts_with_nothing_but_its_image(task: Path, tmp_path: Path) -> None:
    """A library or a module that only the checkout has would be found here."""
    program = (
        "import sys, importlib, pathlib\n"
        "root = pathlib.Path(sys.argv[1]); sys.path.insert(0, str(root))\n"
        "for path in sorted(root.glob('lambdas/**/*.py')):\n"
        "    name = '.'.join(path.relative_to(root).with_suffix('').parts)\n"
        "    importlib.import_module(name.removesuffix('.__init__'))\n"
        "print(sys.modules['lambdas'].__file__, sys.modules['botocore'].__file__)\n"
    )

    done = subprocess.run(
        [sys.executable, "-I", "-S", "-W", "error", "-c", program, task],
        env={},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == 0, done.stderr
    assert done.stdout.count(str(task)) == 2


def test_what_a_module_imports_late_is_there_too(task: Path) -> None:
    late = re.compile(r"^\s+(?:from|import) (lambdas\.[\w.]+)", re.M)
    found = {
        module
        for path in (task / "lambdas").rglob("*.py")
        for module in late.findall(path.read_text(encoding="utf-8"))
    }

    def is_there(module: str) -> bool:
        place = task / Path(*module.split("."))
        return place.with_suffix(".py").is_file() or place.is_dir()

    assert len(found) > 5
    assert [each for each in sorted(found) if not is_there(each)] == []


def test_command_reads_what_the_stack_tells_it(task: Path, tmp_path: Path) -> None:
    """As the container does it: without settings it says which are missing."""
    text = image.DOCKERFILE.read_text(encoding="utf-8")
    (command,) = re.findall(r'^CMD \["python", (.*)\]$', text, re.M)
    arguments = [each.strip(' "') for each in command.split(",")]

    done = subprocess.run(
        [sys.executable, "-S", *arguments],
        env={"PYTHONPATH": str(task)},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )

    assert done.returncode != 0
    for name in WorkerSettings.__dataclass_fields__:
        assert name.upper() in done.stderr
