"""What the receiver loads before its first request, in an interpreter of its own."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]

LOOK = """
import json, socket, sys

class NoSocket(socket.socket):
    def connect(self, *_):
        raise AssertionError("touched the network")

socket.socket = NoSocket
import lambdas.receiver.handler
print(json.dumps(sorted(sys.modules)))
"""


def test_import_loads_no_sender_no_cryptography_and_needs_no_environment() -> None:
    done = subprocess.run(
        [sys.executable, "-c", LOOK],
        cwd=ROOT,
        env={"PYTHONPATH": str(ROOT), "PATH": ""},
        capture_output=True,
        text=True,
        check=True,
    )
    loaded = set(json.loads(done.stdout))

    assert "lambdas.receiver.senders" in loaded
    assert not [name for name in loaded if name.startswith("lambdas.receiver.senders.")]
    heavy = {"cryptography", "jwt", "pydantic", "httpx", "requests", "aws_xray_sdk"}
    assert not heavy & loaded
    assert not [name for name in loaded if "idempotency" in name]
