"""Asks a sender's own library, which lives in another environment."""

from __future__ import annotations

import base64
import json
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import IO, Any

from local.setup.environments import SDKS
from tests.unit.receiver.door import Call

_HERE = Path(__file__).parent
JUDGE = _HERE / "judge.py"

# Every sender whose library is asked; a new one is a new file there.
NAMES = sorted(p.stem.replace("_", "-") for p in (_HERE / "sdks").glob("[a-z]*.py"))


class Library:
    """One sender's own library, in a process that answers line by line."""

    def __init__(self, asks: IO[str], answers: IO[str]) -> None:
        self._asks = asks
        self._answers = answers

    def verifies(self, call: Call, **about: Any) -> bool:
        """Say whether the library takes the request for its sender's."""
        return bool(self._ask("verify", call, **about)["valid"])

    def signs(self, call: Call, **about: Any) -> dict[str, str] | None:
        """Return the headers by which the library signs; None where it cannot."""
        headers: dict[str, str] | None = self._ask("sign", call, **about)["headers"]
        return headers

    def _ask(
        self,
        wanted: str,
        call: Call,
        *,
        secret: str,
        now: datetime,
        url: str,
        more: Mapping[str, Any] | None = None,
    ) -> dict[str, Any]:
        asked = {
            "wanted": wanted,
            "headers": {n.lower(): value for n, value in call.headers.items()},
            "body": base64.b64encode(call.body).decode(),
            "secret": secret,
            "now": now.timestamp(),
            "method": call.method,
            "url": f"{url}?{call.query}" if call.query else url,
            "more": more or {},
        }
        self._asks.write(f"{json.dumps(asked)}\n")
        self._asks.flush()
        answer: dict[str, Any] = json.loads(self._answers.readline())
        return answer


@contextmanager
def library(sender: str) -> Iterator[Library]:
    """Start the process of a sender's library, and end it afterwards."""
    python = SDKS / "bin/python"
    assert python.exists(), "no .venv-sdk: run `make sdks`"
    with subprocess.Popen(
        [python, "-P", JUDGE, sender],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        yield Library(process.stdin, process.stdout)
        process.stdin.close()
