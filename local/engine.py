"""The local engine's process: started clean, on the loopback, in a group of its own."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import subprocess
import time
import urllib.request
from dataclasses import dataclass
from pathlib import Path

from local.home import ROOT, Home, LocalError, is_alive

REGION = "us-east-1"
# The engine takes this key for the account's root: what an operator would be.
ACCESS_KEY_ID = "test"
SECRET_ACCESS_KEY = "test"  # noqa: S105 - the engine's own, opens nothing else

_START_SECONDS = 90


@dataclass(frozen=True, slots=True, kw_only=True)
class Engine:
    """A started engine."""

    process: subprocess.Popen[bytes]
    endpoint: str


def python() -> Path:
    """Return the interpreter of the engine's own environment.

    Raises:
        LocalError: there is none; the message is the command to run.
    """
    path = ROOT / ".venv-engine/bin/python"
    if not path.is_file():
        raise LocalError("the local engine is not installed: run `make setup`")
    return path


def free_port(wanted: int = 0) -> int:
    """Return a port that is free now on the loopback; ``wanted`` or any.

    Raises:
        LocalError: ``wanted`` is taken.
    """
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", wanted))
        except OSError as error:
            raise LocalError(
                f"port {wanted} is taken: name another with --port, or none"
            ) from error
        port: int = probe.getsockname()[1]
        return port


def start(home: Home, *, port: int, world_url: str, auth: bool) -> Engine:
    """Start the engine; it serves a moment later (see :func:`await_ready`)."""
    with home.engine_log.open("wb") as log:
        process = subprocess.Popen(
            [python(), "-P", ROOT / "local/launch.py"],
            cwd=home.temp,
            env=_environment(home, port=port, world_url=world_url, auth=auth),
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            # A group of its own, so that stopping it takes its functions along.
            start_new_session=True,
        )
    return Engine(process=process, endpoint=f"http://127.0.0.1:{port}")


def _environment(
    home: Home, *, port: int, world_url: str, auth: bool
) -> dict[str, str]:
    """Return all that the engine, and with it every function, sees of this machine."""
    return {
        "PATH": os.environ.get("PATH", os.defpath),
        "HOME": str(home.temp),
        "TMPDIR": str(home.temp),
        "LANG": "C.UTF-8",
        "BIND_HOST": "127.0.0.1",
        "MINISTACK_HOST": "127.0.0.1",
        "GATEWAY_PORT": str(port),
        "MINISTACK_REGION": REGION,
        "AUTH": "true" if auth else "false",
        "SFTP_ENABLED": "0",
        "IOT_MTLS_ENABLED": "0",
        "AWS_EC2_METADATA_DISABLED": "true",
        "PYTHONPATH": str(ROOT / "local/hooks"),
        "BELLHOP_CLOCK_FILE": str(home.clock),
        "BELLHOP_WORLD_URL": world_url,
        "BELLHOP_KILL_FILE": str(home.kill),
        "BELLHOP_WIRE_FILE": str(home.wire),
    }


def await_ready(endpoint: str, pid: int, home: Home) -> None:
    """Return when the engine serves.

    Raises:
        LocalError: it died or does not come up; the end of its log is in it.
    """
    deadline = time.monotonic() + _START_SECONDS
    while time.monotonic() < deadline:
        if not is_alive(pid):
            raise LocalError(f"the local engine died at its start:\n{tail(home)}")
        try:
            urllib.request.urlopen(  # noqa: S310 - the loopback
                f"{endpoint}/_ministack/health", timeout=2
            ).close()
        except OSError:
            time.sleep(0.05)
        else:
            return
    raise LocalError(
        f"the local engine did not serve within {_START_SECONDS} s:\n{tail(home)}"
    )


def tail(home: Home, lines: int = 15) -> str:
    """Return the end of the engine's log."""
    try:
        text = home.engine_log.read_text(encoding="utf-8", errors="replace")
    except FileNotFoundError:
        return "(it left no log)"
    return "\n".join(text.splitlines()[-lines:])


def stop(engine: Engine) -> None:
    """End the engine and every function's process; returns when they are gone."""
    # Nothing in it is worth a farewell: it keeps its state in memory, and asked
    # politely it waits seconds for connections that clients hold open.
    with contextlib.suppress(ProcessLookupError):
        os.killpg(engine.process.pid, signal.SIGKILL)
    engine.process.wait()
