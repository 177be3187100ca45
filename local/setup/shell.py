"""Commands of the set-up: quiet when they work, whole when they fail."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path


class SetupError(Exception):
    """The set-up cannot go on; the message says what a person has to do."""


def say(text: str) -> None:
    """Tell the person at the terminal, at once."""
    print(text, flush=True)


def run(
    command: Sequence[str | Path], doing: str, environ: Mapping[str, str] | None = None
) -> str:
    """Run ``command`` and return what it printed.

    Raises:
        SetupError: it failed; the message holds the end of what it said.
    """
    done = subprocess.run(
        command,
        env=environ,
        capture_output=True,
        text=True,
        check=False,
        stdin=subprocess.DEVNULL,
    )
    if done.returncode != 0:
        told = (done.stderr.strip() or done.stdout.strip())[-2000:]
        raise SetupError(f"{doing} failed (exit {done.returncode}):\n{told}")
    return done.stdout


def uv_environ(python: Path) -> dict[str, str]:
    """Return the environment for uv: this machine's certificates and pip's index.

    uv reads neither pip's configuration nor, unless told, the system's
    certificates; a machine whose pip works should need no second set-up.
    """
    environ = {**os.environ, "UV_PYTHON_DOWNLOADS": "never"}
    environ.pop("VIRTUAL_ENV", None)
    environ.setdefault("UV_SYSTEM_CERTS", "1")
    told = _pip_configuration(python)
    if "index-url" in told and "UV_INDEX_URL" not in environ:
        environ.setdefault("UV_DEFAULT_INDEX", told["index-url"])
    if Path(told.get("cert", "")).is_file():
        environ.setdefault("SSL_CERT_FILE", told["cert"])
    return environ


def _pip_configuration(python: Path) -> dict[str, str]:
    text = run([python, "-m", "pip", "config", "list"], "reading pip's configuration")
    return dict(re.findall(r"^[\w:]+\.([\w-]+)='(.*)'$", text, re.MULTILINE))


def require_python() -> None:
    """Refuse an interpreter that is too old, or that cannot make environments."""
    if sys.version_info < (3, 11):  # noqa: UP036 - this is where it is found out
        raise SetupError(f"want Python 3.11 or newer, this is {sys.version.split()[0]}")
    try:
        __import__("ensurepip")
        __import__("venv")
    except ImportError as error:
        raise SetupError(
            f"{sys.executable} has no {error.name}: install it"
            " (on Debian and Ubuntu: apt-get install python3-venv)"
        ) from error
