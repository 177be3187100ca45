"""What a subject came to, and how it is told."""

from __future__ import annotations

from dataclasses import dataclass, field

from bench.rounds import Rounds


@dataclass(frozen=True, kw_only=True)
class Finding:
    """One number beside the bound that it must keep."""

    what: str
    measured: str
    bound: str
    holds: bool
    raw: list[str] = field(default_factory=list)


def ratio_finding(
    what: str,
    rounds: Rounds,
    *,
    unit: str,
    at_most: float | None = None,
    at_least: float | None = None,
) -> Finding:
    """Return the finding of a comparison; one of the bounds is given."""
    low, high = rounds.middle_half
    holds = rounds.ratio <= (at_most or float("inf")) and rounds.ratio >= (
        at_least or 0.0
    )
    return Finding(
        what=what,
        measured=f"{rounds.ratio:.2f} x  ({low:.2f} to {high:.2f})",
        bound=f"<= {at_most} x" if at_most else f">= {at_least} x",
        holds=holds,
        raw=[
            f"ours {unit}: {_listed(rounds.ours)}",
            f"peer {unit}: {_listed(rounds.peer)}",
        ],
    )


def exact_finding(what: str, measured: object, wanted: object) -> Finding:
    """Return the finding of something that is counted."""
    return Finding(
        what=what,
        measured=str(measured),
        bound=f"exactly {wanted}",
        holds=measured == wanted,
    )


def _listed(samples: list[float]) -> str:
    return " ".join(f"{sample:.3g}" for sample in samples)
