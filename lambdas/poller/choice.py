"""Which items of a feed are accepted now, and what is remembered of the others."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from lambdas.poller.cursor import Marks
from lambdas.poller.item import MOST_ITEMS, Item
from lambdas.shared.fleet import Feed


@dataclass(frozen=True, slots=True, kw_only=True)
class Chosen:
    """What a run accepts, oldest first.

    ``marks`` are remembered once it has; ``rest`` items wait for the next run, and
    ``passed`` were there before the feed was known, and are never accepted.
    """

    new: tuple[Item, ...]
    edited: tuple[Item, ...]
    marks: Marks
    rest: int
    passed: int = 0


def choose(feed: Feed, items: Sequence[Item], marks: Marks | None) -> Chosen:
    """Choose of ``items``, which are newest first, by what is remembered.

    An item that has vanished is remembered while there is room: back again, it is
    not new. Of more than twenty thousand the longest gone are forgotten.
    """
    known = dict(marks or {})
    new = [item for item in _oldest_first(items) if item.mark not in known]
    passed: list[Item] = []
    if marks is None and feed.first_run != "all":
        most = 0 if feed.first_run == "nothing" else int(feed.first_run)
        cut = max(len(new) - most, 0)
        passed, new = new[:cut], new[cut:]
    edited: list[Item] = []
    if feed.edits == "accept":
        edited = [i for i in items if known.get(i.mark, i.print) != i.print]
    taken = new[: feed.max_items]
    changed = edited[: feed.max_items - len(taken)]
    kept = {item.mark for item in edited[len(changed) :]}
    left = {item.mark for item in new[len(taken) :]}
    now = {
        item.mark: known[item.mark] if item.mark in kept else item.print
        for item in items
        if item.mark not in left
    }
    gone = [(mark, held) for mark, held in known.items() if mark not in now]
    return Chosen(
        new=tuple(taken),
        edited=tuple(changed),
        marks={**now, **dict(gone[: MOST_ITEMS - len(now)])},
        rest=len(left) + len(kept),
        passed=len(passed),
    )


def _oldest_first(items: Sequence[Item]) -> list[Item]:
    """By their times where all have one, otherwise as feeds have them, turned round."""
    turned = list(reversed(items))
    if any(item.at is None for item in turned):
        return turned
    return sorted(turned, key=lambda item: item.at.timestamp() if item.at else 0)
