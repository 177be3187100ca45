"""What cdk-nag finds and we mean: how much it is, and that each has its reason."""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from lambdas.shared.fleet import load
from stacks import nag
from tests.infra.conftest import HOURS, SMALL

EVERYWHERE = {"APIG4", "IAM5", "L1", "S1", "SMG4", "SQS3"}


# One per function (its runtime), per failure queue, per secret, per prefix; and per
# container (its variables, its cluster's tasks), for what all containers share.
@pytest.mark.parametrize(
    ("fleet", "rules", "most"),
    [
        (SMALL, EVERYWHERE, 30),
        (HOURS, EVERYWHERE | {"ECS2", "ECS4", "VPC7"}, 40),
    ],
    ids=["small", "hours"],
)
def test_acknowledgements_are_few_and_each_says_why(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    fleet: str,
    rules: set[str],
    most: int,
) -> None:
    given: list[tuple[str, str, str]] = []
    accept = nag.accept

    def noted(construct: Any, rule: str, *, because: str) -> None:
        given.append((str(construct.node.path), rule.partition("[")[0], because))
        accept(construct, rule, because=because)

    monkeypatch.setattr(nag, "accept", noted)
    from stacks.assembly import synthesise

    path = tmp_path / "fleet.toml"
    path.write_text(fleet, encoding="utf-8")
    synthesise(load(path), fleet_path=path, outdir=tmp_path / "out")

    counts = Counter(rule for _, rule, _ in given)
    reasons = {because for _, _, because in given}
    with capsys.disabled():
        said = f"{len(given)} acknowledgements, {len(reasons)} reasons"
        sys.stdout.write(f"\ncdk-nag: {said}: {dict(counts)}\n")
    assert set(counts) == rules
    assert len(given) <= most
    assert all(len(because) > 40 and because.endswith(".") for because in reasons)
    # Each on the construct that it excuses, never on the whole stack.
    assert all("/" in place for place, _, _ in given)
