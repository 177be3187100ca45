"""The set-up tells a person what to do, and leaves alone what is done."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from local.setup import environments, locks, shell
from stacks import packaging


def test_failure_shows_what_the_command_said() -> None:
    program = "import sys; sys.exit('the disk is full')"

    with pytest.raises(shell.SetupError) as caught:
        shell.run([sys.executable, "-c", program], "installing everything")

    assert str(caught.value) == (
        "installing everything failed (exit 1):\nthe disk is full"
    )


def test_uv_is_told_what_pip_is_configured_to(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    certificates = tmp_path / "ca.pem"
    certificates.touch()
    configuration = tmp_path / "pip.conf"
    configuration.write_text(
        f"[global]\nindex-url = http://127.0.0.1:1/simple\ncert = {certificates}\n"
    )
    for name in ("PIP_CERT", "SSL_CERT_FILE", "UV_DEFAULT_INDEX", "UV_INDEX_URL"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("PIP_CONFIG_FILE", str(configuration))

    environ = shell.uv_environ(Path(sys.executable))

    assert environ["UV_DEFAULT_INDEX"] == "http://127.0.0.1:1/simple"
    assert environ["SSL_CERT_FILE"] == str(certificates)
    assert environ["UV_PYTHON_DOWNLOADS"] == "never"


def test_a_persons_own_setting_of_uv_wins(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PIP_INDEX_URL", "http://127.0.0.1:1/pip")
    monkeypatch.setenv("UV_DEFAULT_INDEX", "http://127.0.0.1:1/uv")

    environ = shell.uv_environ(Path(sys.executable))

    assert environ["UV_DEFAULT_INDEX"] == "http://127.0.0.1:1/uv"


def test_a_lock_is_written_again_only_when_its_pins_change(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An edited comment changes nothing; ``never`` would fail if it were called."""
    monkeypatch.setattr(locks, "ROOT", tmp_path)
    never = tmp_path / "no-such-uv"
    wanted = tmp_path / "wanted.txt"
    wanted.write_text("typer==1.0  # commands\n")
    digest = locks._print_of(wanted)  # the header is what this test is about
    wanted.with_suffix(".lock").write_text(
        f"# Locked by `make lock` from {digest}: do not edit.\ntyper==1.0\n"
    )

    wanted.write_text("# the command line\n\ntyper==1.0  # other words\n")
    locks.lock(never, wanted, {}, anew=False)

    wanted.write_text("typer==1.1\n")
    with pytest.raises(FileNotFoundError, match="no-such-uv"):
        locks.lock(never, wanted, {}, anew=False)


def test_every_pin_is_exact_and_says_why() -> None:
    files = [environments._DEVELOPMENT, environments._ENGINE, *packaging.SETS.values()]
    for path in files:
        for line in path.read_text().splitlines():
            pin, _, reason = line.partition("  # ")
            if line and not line.startswith("#"):
                assert "==" in pin or pin.startswith("-r "), f"{path.name}: {line}"
                assert len(reason) > 5, f"{path.name}: {line}"


def test_what_ships_is_what_is_tested() -> None:
    """The development set and the shipped sets pin the same versions."""
    tested = versions(packaging.lock_of(environments._DEVELOPMENT))
    for name, requirements in packaging.SETS.items():
        shipped = versions(packaging.lock_of(requirements))
        differing = {p: v for p, v in shipped.items() if tested.get(p) != v}
        assert differing == {}, f"run `make lock`: {name}"


def versions(lock: Path) -> dict[str, str]:
    pins = [line.split(";")[0] for line in lock.read_text().splitlines()]
    parts = [pin.rstrip("\\ ").split("==") for pin in pins if "==" in pin]
    return dict(parts)


def test_finished_set_up_says_nothing() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "local.setup"],
        cwd=packaging.ROOT,
        env={"PATH": os.environ["PATH"]},
        capture_output=True,
        text=True,
        check=False,
    )

    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
