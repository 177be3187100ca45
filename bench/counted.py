"""What is counted and not timed: AWS calls, write units, bytes of the asset."""

from __future__ import annotations

import os
import statistics
import tempfile
from collections.abc import Iterator
from pathlib import Path

from bench.fake_aws.units import UNIT_BYTES
from bench.findings import Finding, exact_finding
from bench.made import github_body
from bench.processes import FLEET, ROOT, Aws, contestants, environ, fake_aws
from bench.receiver.kinds import SEVERAL
from local.setup.deps import zipped_bytes
from stacks import packaging

_STORES = ("dynamodb.", "s3.")
_WANTED = {
    "new": 1,
    "duplicate": 1,
    "forged": 0,
    "body in S3": 2,
    "several events": SEVERAL,
}
_LARGEST_CORE_BYTES = 2.3e6
_MOST_UNITS = 6.0
# Above the accepted event, one claim and one end. A failed attempt is a claim and an
# end too, and is in no index (decision 0018).
_MORE_UNITS = {"one-step": 1, "one-effect": 2, "fails-once": 2}


def acceptance(asset: Path) -> Iterator[Finding]:
    """Count the calls to DynamoDB and S3 on the wire, with the secret warm."""
    with (
        fake_aws() as aws,
        contestants("bench.receiver.each_kind", environment=environ(aws, asset)) as (
            receiver,
        ),
    ):
        receiver.ask("forged")
        for kind, wanted in _WANTED.items():
            aws.counted()
            status = receiver.ask(kind)
            calls = aws.counted()["calls"]
            made = sum(n for name, n in calls.items() if name.startswith(_STORES))
            told = ", ".join(f"{n} {name}" for name, n in calls.items()) or "none"
            found = exact_finding(f"AWS calls to accept: {kind}", made, wanted)
            found.raw.append(f"answered {status}; on the wire: {told}")
            yield found


def write_units(asset: Path) -> Iterator[Finding]:
    """Reckon what DynamoDB bills for an event, from the door to its end."""
    with fake_aws() as aws, tempfile.TemporaryDirectory() as folder:
        bodies, of = _bodies(Path(folder))
        plain = _units(aws, asset, "bench", bodies)
        mean = statistics.mean(plain)
        sizes = sorted(path.stat().st_size for path in bodies)
        yield Finding(
            what="write units per event: accept, index, claim, finish",
            measured=f"{mean:.2f}",
            bound=f"<= {_MOST_UNITS:g}",
            holds=mean <= _MOST_UNITS,
            raw=[
                f"{len(bodies)} bodies {of}, {sizes[0]} to {sizes[-1]} bytes,"
                f" a unit is {UNIT_BYTES} bytes",
                f"units: {' '.join(str(each) for each in plain)}",
            ],
        )
        for agent, wanted in _MORE_UNITS.items():
            units = _units(aws, asset, agent, bodies[:5])
            more = {a - b for a, b in zip(units, plain[:5], strict=True)}
            told = more.pop() if len(more) == 1 else more
            yield exact_finding(f"write units more: {agent}", told, wanted)


def _units(aws: Aws, asset: Path, agent: str, bodies: list[Path]) -> list[int]:
    environment = environ(aws, asset, AGENT_NAME=agent)
    units = []
    with contestants("bench.worker.one_event", environment=environment) as (event,):
        for body in bodies:
            aws.counted()
            event.ask(body)
            units.append(sum(aws.counted()["units"].values()))
    return units


def _bodies(folder: Path) -> tuple[list[Path], str]:
    """Return files of 8 to 25 KB: GitHub's own examples where there are any."""
    fixtures = Path(os.environ.get("BELLHOP_FIXTURES", ROOT.parent / "shared/fixtures"))
    captured = [
        path
        for path in sorted(fixtures.glob("payloads/github/*.json"))
        if 8_000 <= path.stat().st_size <= 25_000
    ]
    if captured:
        return captured, "of GitHub's own examples"
    for kilobytes in range(8, 26):
        path = folder / f"{kilobytes}.json"
        path.write_bytes(github_body(kilobytes * 1000, seed=kilobytes))
    return sorted(folder.iterdir()), "made like GitHub's"


def core_bytes() -> Iterator[Finding]:
    """Weigh the zip that every function is given, with byte-code."""
    is_compiled = packaging.compiler(packaging.AWS) is not None
    asset = packaging.stage([], FLEET, local=not is_compiled)
    size = zipped_bytes(asset)
    target = packaging.AWS if is_compiled else packaging.HERE
    yield Finding(
        what="core asset, zipped with byte-code",
        measured=f"{size / 1e6:.2f} MB",
        bound=f"<= {_LARGEST_CORE_BYTES / 1e6:g} MB",
        holds=size <= _LARGEST_CORE_BYTES,
        raw=[f"{size} bytes for {target}"],
    )
