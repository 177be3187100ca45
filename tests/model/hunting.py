"""Plays many cases in processes of their own: the code as it is, or with a fault."""

from __future__ import annotations

import importlib
import multiprocessing
import time
from collections.abc import Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import pytest

from lambdas.shared.observe import logger
from lambdas.worker import telling
from tests.model.cases import Failure, search

FAULTS = sorted(
    path.stem
    for path in (Path(__file__).parent / "faults").glob("*.py")
    if path.stem != "__init__"
)
_WORKERS = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Hunt:
    """So many cases from a seed on, with a fault planted or none (``""``)."""

    seed: int
    cases: int
    fault: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """What a hunt found, and after how many cases."""

    hunt: Hunt
    failure: Failure | None
    played: int
    seconds: float


def hunt_all(hunts: Iterable[Hunt]) -> Iterator[Result]:
    """Play them side by side; results come in the order of ``hunts``."""
    # Spawned, not forked: what pytest has loaded and patched stays with it.
    spawn = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(_WORKERS, mp_context=spawn, initializer=_quiet) as pool:
        yield from pool.map(hunt_one, hunts)


def hunt_one(hunt: Hunt) -> Result:
    """Play until a rule is broken."""
    began = time.monotonic()
    failure, played = None, 0
    with pytest.MonkeyPatch.context() as patch:
        if hunt.fault:
            importlib.import_module(f"tests.model.faults.{hunt.fault}").plant(patch)
        for seed in range(hunt.seed, hunt.seed + hunt.cases):
            played += 1
            failure = search(seed)
            if failure is not None:
                break
    seconds = time.monotonic() - began
    return Result(hunt=hunt, failure=failure, played=played, seconds=seconds)


def _quiet() -> None:
    """Spare the lines and metrics of a hundred thousand deliveries."""
    logger.setLevel("CRITICAL")
    for name in ("count", "measure"):
        setattr(telling, name, lambda *_, **__: None)
