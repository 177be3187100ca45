"""The end of a case: nothing fails any more, and every event must be told of."""

from __future__ import annotations

from tests.model.queue import Place
from tests.model.rules import OVER
from tests.model.system import EFFECTS, TO_THE_END, Broken, Move, System

# More than any case needs; a queue that never empties is itself a fault.
_ROUNDS = 60


def settle(system: System) -> None:
    """Let all that was begun end by itself, nothing failing any more."""
    for name in list(system.workers):
        system.do(Move("go", name, TO_THE_END))
    for _ in range(_ROUNDS):
        waiting = system.queue.at(Place.QUEUE)
        if not waiting:
            return
        now_ms = system.clock.ms
        next_ms = min(letter.visible_ms for letter in waiting)
        system.do(Move("wait", number=max(0, next_ms - now_ms)))
        for letter in system.queue.visible():
            if system.do(Move("receive", letter.id)):
                system.do(Move("go", f"{letter.id}/{letter.receives}", TO_THE_END))
    raise Broken("the queue does not empty")


def check_settled(system: System) -> None:
    """Each run is over or has a letter that says so.

    One letter, where nothing was disturbed and nobody asked for the run again,
    however often the relay has published its event.
    """
    for event_id in system.events:
        row = system.row(event_id)
        system.watch.not_lost(event_id, row)
        if event_id in system.disturbed or row["state"] in OVER:
            continue
        sent = [m for m in system.queue.letters.values() if m.event_id == event_id]
        if any(letter.is_asked_for for letter in sent):
            continue
        letters = len(system.queue.at(Place.DEAD_LETTERS, event_id))
        if (row["state"], letters) != ("DEAD", 1):
            system.watch.breaks(
                f"{event_id} is {row['state']} with {letters} dead letters"
            )
    _check_once(system)


def check_redriven(system: System) -> None:
    """An operator redrives everything: all of it ends well."""
    for _ in range(3):
        for event_id in system.events:
            system.do(Move("resolve", event_id))
        for letter in system.queue.at(Place.DEAD_LETTERS):
            system.do(Move("redrive", letter.id))
        settle(system)
    for event_id, (generation, effects) in system.generations.items():
        row = system.row(event_id)
        if (row["state"], row["generation"]) != ("SUCCEEDED", generation):
            system.watch.breaks(f"{event_id} is {row['state']} after its redrive")
        for effect in EFFECTS:
            if system.outside.happened[event_id, effect, effects] != 1:
                system.watch.breaks(f"{effect!r} of a run that succeeded is missing")
    if system.queue.at(Place.DEAD_LETTERS):
        system.watch.breaks("a dead letter cannot be redriven")
    _check_once(system)


def _check_once(system: System) -> None:
    for told, count in system.outside.happened.items():
        if count > 1:
            system.watch.breaks(f"{told} happened {count} times")
    if system.watch.broken:
        raise Broken(system.watch.broken[0])
