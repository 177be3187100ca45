"""Makes random cases, plays them, and makes one that breaks a rule short.

A case that breaks a rule is printed as a script, one move a line. To play it
again: ``python -m tests.model < script``.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from tests.model import evening
from tests.model.outside import Kind
from tests.model.queue import Place
from tests.model.system import Broken, Move, System

_LONGEST_CASE = 40
_MILLISECONDS = (1, 500, 1_000, 3_000, 18_000)

# What a case is rich in: weights of its moves.
_TEMPERS: tuple[dict[str, int], ...] = (
    {"go": 12, "send": 2, "crash": 1, "fail": 1, "lose": 1, "giveup": 1},
    {"go": 6, "crash": 6, "redrive": 4, "send": 1},
    {"go": 8, "send": 6, "repeat": 3, "fail": 2},
    {"go": 8, "fail": 3, "lose": 4, "twice": 4, "crash": 1},
    {"go": 8, "giveup": 3, "redrive": 5, "replay": 2, "again": 2, "keep": 3},
    {"go": 8, "giveup": 3, "send": 4, "double": 1, "redrive": 2},
    {"go": 6, "wait": 6, "repeat": 3, "send": 2, "crash": 1},
    {"go": 6, "lose": 4, "crash": 3, "resolve": 4, "redrive": 4, "again": 1},
    {"go": 8, "hand": 8, "receive": 8, "crash": 1},
    {"go": 6, "stop": 4, "wait": 5, "repeat": 3, "crash": 2, "again": 1, "keep": 1},
    {"go": 8, "stop": 4, "fail": 4, "redrive": 4, "giveup": 1, "twice": 2},
    {"go": 8, "overtake": 8},
    {"go": 8, "fail": 6, "spend": 4, "redrive": 6},
)
# The calls of a worker that hands over, and of one that is overtaken.
_HANDING_OVER = ("update checkpoint", "update run", "send", "answer")
_OVERTAKEN = ("update effect", "effect", "update run")
_ALWAYS = {"receive": 8, "wait": 3, "redrive": 1, "resolve": 1}


@dataclass(frozen=True, slots=True)
class Failure:
    """A case that broke a rule, as short as it could be made."""

    seed: int
    kind: Kind
    moves: tuple[Move, ...]
    rule: str

    def __str__(self) -> str:
        lines = [
            f"# seed {self.seed}; {self.rule}",
            "# play it again: python -m tests.model < this",
            f"outside {self.kind.value}",
            *map(str, self.moves),
        ]
        return "\n".join(lines)


def play(kind: Kind, moves: Iterable[Move]) -> str:
    """Play a case to its end; returns the rule that it broke, or nothing."""
    system = System(kind)
    try:
        for move in moves:
            system.do(move)
        _end(system)
    except Broken as broken:
        return str(broken)
    finally:
        system.end()
    return ""


def search(seed: int) -> Failure | None:
    """Play the random case of ``seed``; a broken rule is told by its shortest case."""
    chance = random.Random(seed)  # noqa: S311 - a case must come again
    kind = chance.choice(list(Kind))
    system = System(kind)
    moves: list[Move] = []
    try:
        _day(system, chance, moves)
        _end(system)
    except Broken as broken:
        rule = str(broken)
    else:
        return None
    finally:
        system.end()
    return Failure(seed, kind, shortened(kind, moves), rule)


def shortened(kind: Kind, moves: Sequence[Move]) -> tuple[Move, ...]:
    """Leave out what is not needed to break some rule."""
    kept = list(moves)
    size = max(1, len(kept) // 2)
    while size:
        start = 0
        while start < len(kept):
            shorter = kept[:start] + kept[start + size :]
            if play(kind, shorter):
                kept = shorter
            else:
                start += size
        size //= 2
    return tuple(kept)


def _day(system: System, chance: random.Random, moves: list[Move]) -> None:
    temper = {**_ALWAYS, **chance.choice(_TEMPERS)}
    verbs, weights = list(temper), list(temper.values())
    events = ["e1"] if chance.random() < 0.8 else ["e1", "e2"]
    for event in events:
        _make(system, Move("send", event), moves)
    for _ in range(chance.randint(6, _LONGEST_CASE)):
        (verb,) = chance.choices(verbs, weights)
        for move in _filled(system, verb, chance, events):
            _make(system, move, moves)


def _make(system: System, move: Move, moves: list[Move]) -> None:
    moves.append(move)
    system.do(move)


def _filled(
    system: System, verb: str, chance: random.Random, events: list[str]
) -> Iterator[Move]:
    """Yield the moves of a kind that can be made now, if one can.

    What comes after a move may depend on it: each is made before the next is asked.
    """
    queue = system.queue
    names: list[str] = []
    match verb:
        case "wait":
            yield Move("wait", number=_moment(system, chance))
        case "overtake" | "spend" | "hand":
            yield from _SEVERAL[verb](system, chance)
        case "send" | "replay" | "again" | "keep" | "resolve":
            yield Move(verb, chance.choice(events))
        case "receive":
            names = [letter.id for letter in queue.visible()]
        case "double":
            names = list(queue.letters)
        case "repeat":
            names = [letter.id for letter in queue.repeatable()]
        case "redrive":
            names = [letter.id for letter in queue.at(Place.DEAD_LETTERS)]
        case _:
            names = [n for n, p in system.workers.items() if not p.is_over]
    if names:
        number = chance.choice((1, 2, 3, 5, 8, 1000)) if verb == "go" else 0
        yield Move(verb, chance.choice(names), number)


def _overtaken(system: System, chance: random.Random) -> Iterator[Move]:
    """Pause a worker until another has its message, and let both go on."""
    working = [
        p.work
        for p in system.workers.values()
        if not p.is_over and p.work.letter.place is Place.QUEUE
    ]
    if not working:
        return
    paused = chance.choice(working)
    letter = paused.letter
    yield from _stood(system, paused.name, chance.choice(_OVERTAKEN))
    yield Move("wait", number=max(0, letter.visible_ms - system.clock.ms))
    yield Move("receive", letter.id)
    next_name = f"{letter.id}/{letter.receives}"
    yield from _stood(system, next_name, chance.choice(_OVERTAKEN))
    yield Move("go", paused.name, chance.randint(1, 8))


def _spent(system: System, chance: random.Random) -> Iterator[Move]:
    """Use up a message's receives: it is delivered, and nobody begins."""
    letters = system.queue.repeatable()
    if not letters:
        return
    letter = chance.choice(letters)
    while letter in system.queue.repeatable():
        yield Move("repeat", letter.id)
        yield Move("crash", f"{letter.id}/{letter.receives}")


def _handed_over(system: System, chance: random.Random) -> Iterator[Move]:
    """Stop a worker, and let others go on while it hands over; or end it there."""
    at_work = [name for name, p in system.workers.items() if not p.is_over]
    if not at_work:
        return
    name = chance.choice(at_work)
    number = chance.randint(0, 8)
    if number:
        yield Move("go", name, number)
    yield Move("stop", name)
    yield from _stood(system, name, chance.choice(_HANDING_OVER))
    for letter in system.queue.visible():
        yield Move("receive", letter.id)
        yield Move("go", f"{letter.id}/{letter.receives}", chance.choice((2, 1000)))
    verb = chance.choice(("go", "crash", "fail", "lose", "twice"))
    yield Move(verb, name, chance.choice((1, 1000)) if verb == "go" else 0)


def _stood(system: System, name: str, call: str) -> Iterator[Move]:
    """Let a worker go on until it stands before such a call, or is over."""
    process = system.workers.get(name)
    while process is not None and not process.standing.startswith(call):
        if process.is_over:
            return
        yield Move("go", name, 1)


_SEVERAL = {"overtake": _overtaken, "spend": _spent, "hand": _handed_over}


def _moment(system: System, chance: random.Random) -> int:
    """Return how long to wait: until something is due, or just a while."""
    now_ms = system.clock.ms
    leases = [p.work.leased_until_ms for p in system.workers.values() if p.standing]
    hidden = [letter.visible_ms for letter in system.queue.at(Place.QUEUE)]
    due = sorted({at - now_ms for at in (*leases, *hidden) if at > now_ms})
    if due and chance.random() < 0.7:
        return due[0]
    return chance.choice(_MILLISECONDS)


def _end(system: System) -> None:
    evening.settle(system)
    evening.check_settled(system)
    evening.check_redriven(system)
