"""Lets the senders' own libraries judge and sign; runs in ``.venv-sdk`` alone.

Reads one request a line from standard input, as JSON, and answers with one line.
A module ``sdks/<sender with _ for ->.py`` holds ``verify(case) -> bool`` and, where
the library can sign too, ``sign(case) -> {header: value}``.
"""

from __future__ import annotations

import base64
import contextlib
import importlib.util
import json
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

_SDKS = Path(__file__).parent / "sdks"


@dataclass(frozen=True)
class Case:
    """A request as a library sees it. Names of ``headers`` are in lower case.

    ``now`` is the time to judge at, in epoch seconds; ``more`` is what a sender
    needs beside (keys that it would fetch).
    """

    headers: Mapping[str, str]
    body: bytes
    secret: str
    now: float
    method: str
    url: str
    more: Mapping[str, Any]

    @property
    def text(self) -> str:
        """The body as text."""
        return self.body.decode()


def _load(sender: str) -> ModuleType:
    path = _SDKS / f"{sender.replace('-', '_')}.py"
    # Not under its bare name: `stripe.py` must not stand for `stripe`.
    spec = importlib.util.spec_from_file_location(f"sdk_{path.stem}", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _answer(module: ModuleType, asked: dict[str, Any]) -> dict[str, Any]:
    case = Case(
        headers=asked["headers"],
        body=base64.b64decode(asked["body"]),
        secret=asked["secret"],
        now=asked["now"],
        method=asked["method"],
        url=asked["url"],
        more=asked["more"],
    )
    if asked["wanted"] == "sign":
        sign = getattr(module, "sign", None)
        return {"headers": sign(case) if sign else None}
    try:
        return {"valid": bool(module.verify(case)), "raised": None}
    except Exception as error:  # noqa: BLE001, RUF100 - any way of refusing
        return {"valid": False, "raised": type(error).__name__}


def main(sender: str) -> None:
    """Answer until the input ends."""
    answers = sys.stdout
    # discord_interactions prints what it thinks of a signature.
    with contextlib.redirect_stdout(sys.stderr):
        module = _load(sender)
        for line in sys.stdin:
            answer = json.dumps(_answer(module, json.loads(line)))
            answers.write(f"{answer}\n")
            answers.flush()


if __name__ == "__main__":
    # The folder of this script must not offer `sdks` or `judge` to a library.
    sys.path[:] = [p for p in sys.path if Path(p or ".").resolve() != _SDKS.parent]
    main(sys.argv[1])
