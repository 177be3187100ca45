"""The how-to pages on senders and agents, followed word by word in a copy."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from local.demo.telling import is_done
from local.home import ROOT, Home
from local.stack import LocalStack, connect, wait_for
from tests.e2e.pages import files_of

# Made once for this checkout and named after their content: a copy may share them.
SHARED = (".venv", ".venv-engine", ".build")

_COMMANDS = re.compile(r"```sh\n(.*?)\n\s*```", re.S)


@dataclass(frozen=True)
class Page:
    """A how-to page: files with their content, and commands."""

    name: str

    @property
    def text(self) -> str:
        return (ROOT / "docs/howto" / self.name).read_text(encoding="utf-8")

    @property
    def files(self) -> dict[str, str]:
        """What is written where; the step names the file in bold type."""
        return files_of(self.text)

    @property
    def commands(self) -> list[str]:
        return [
            line.strip()
            for block in _COMMANDS.findall(self.text)
            for line in block.splitlines()
        ]


SENDER, AGENT = Page("add-a-sender.md"), Page("add-an-agent.md")


@dataclass(frozen=True)
class Copy:
    """A copy of the repository that somebody works in."""

    folder: Path

    def run(self, *command: str) -> str:
        done = subprocess.run(
            command,
            cwd=self.folder,
            env={"PATH": os.environ["PATH"], "HOME": str(self.folder / ".home")},
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, f"{command}\n{done.stdout}{done.stderr}"
        return done.stdout

    def git(self, *arguments: str) -> str:
        who = ("-c", "user.name=copy", "-c", "user.email=copy@example.com")
        return self.run("git", *who, *arguments)

    def follow(self, page: Page) -> None:
        """Write what the page says; tables are added to the fleet that is there."""
        for path, text in page.files.items():
            file = self.folder / path
            if path == "fleet.toml":
                text = f"{file.read_text(encoding='utf-8')}\n{text}"
            else:
                assert not file.exists(), f"{page.name}: {path} is there already"
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text, encoding="utf-8")
        for command in page.commands:
            self.run("sh", "-c", command)

    def changed(self) -> set[str]:
        told = self.git("status", "--porcelain", "--untracked-files=all")
        return {line[3:] for line in told.splitlines()}


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Copy:
    """The repository as it is, in a repository of its own without any change."""
    if shutil.which("git") is None:
        pytest.skip("there is no git")
    folder = tmp_path_factory.mktemp("copy")
    listed = subprocess.run(
        ["git", "ls-files", "-co", "--exclude-standard", "-z"],  # noqa: S607
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    for name in filter(None, listed.split("\0")):
        if (ROOT / name).is_file():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, folder / name)
    copy = Copy(folder)
    copy.git("init", "-q")
    (folder / ".git/info/exclude").write_text("\n".join([*SHARED, ".home"]))
    for name in SHARED:
        (folder / name).symlink_to(ROOT / name)
    copy.git("add", "-A")
    copy.git("commit", "-q", "-m", "as it was")
    assert copy.changed() == set()
    return copy


@pytest.fixture(scope="module")
def followed(copy: Copy) -> Copy:
    copy.follow(SENDER)
    copy.follow(AGENT)
    return copy


@pytest.fixture(scope="module")
def up(followed: Copy) -> Iterator[LocalStack]:
    """The copy's own fleet, deployed by the copy's own code."""
    followed.run(sys.executable, "-m", "local", "up")
    yield connect(Home(followed.folder / ".local"))
    followed.run(sys.executable, "-m", "local", "down")


def test_pages_name_what_they_write() -> None:
    assert list(SENDER.files) == [
        "lambdas/receiver/senders/cafe.py",
        "cli/signers/cafe.py",
        "cli/samples/cafe/order.placed.json",
        "fleet.toml",
    ]
    assert len(SENDER.commands) == 2
    assert list(AGENT.files) == ["agents/greeter.py", "fleet.toml"]


def test_only_the_named_files_change(followed: Copy) -> None:
    pages = {"docs/reference/senders/cafe.md", "docs/reference/senders/README.md"}

    assert followed.changed() == {*SENDER.files, *AGENT.files, *pages}
    for page in (SENDER, AGENT):
        assert [path for path in page.files if f"`{path}`" not in page.text] == []


def test_what_was_written_passes_the_projects_own_checks(followed: Copy) -> None:
    written = [path for path in (*SENDER.files, *AGENT.files) if path.endswith(".py")]
    tool = [sys.executable, "-m"]

    followed.run(*tool, "ruff", "check", *written)
    followed.run(*tool, "ruff", "format", "--check", *written)


@pytest.mark.parametrize(
    ("source", "event", "agent"),
    [("cafe", "order.placed", "counter"), ("github", "issues.opened", "greeter")],
)
def test_new_sender_and_new_agent_handle_an_event(
    up: LocalStack, followed: Copy, source: str, event: str, agent: str
) -> None:
    """By the command line, as the pages say."""
    bellhop = "from cli.main import app; app()"
    command = [sys.executable, "-c", bellhop, "send", source, event, "--local"]

    told = followed.run(*command, "--json")
    forged = followed.run(*command, "--json", "--tamper")

    event_id = re.findall(rf'"({source}:[^"]+)"', told)[0]
    assert wait_for(lambda: is_done(up, event_id, agent))
    assert '"bad_signature"' in forged
