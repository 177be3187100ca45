"""Expressions: those that people write, the corners, and seeded random ones."""

from __future__ import annotations

import random

CHOSEN = [
    "* * * * ? *",
    "0 * * * ? *",
    "*/15 * * * ? *",
    "30 2 * * ? *",
    "0 1-3 * * ? *",
    "15,45 0-4 ? * * *",
    "0 6 ? * MON-FRI *",
    "30 1 ? * SUN *",
    "0 2 ? * SUN#1 *",
    "0 2 ? * 1L *",
    "0 3 ? * L *",
    "30 2 L * ? *",
    "30 2 LW * ? *",
    "0 2 1W * ? *",
    "0 2 31W * ? *",
    "0 2 15W * ? *",
    "59 23 L MAR,OCT ? *",
    "0 0 29 2 ? *",
    "5/20 2 ? 3-11 sat-sat 2025-2030",
    "0 2 8-14 MAR ? 2027/2",
    "10 1/2 1,15,31 * ? *",
    "0 2 ? OCT SUN#5 *",
    "0 2-4 ? * 2-6/2 *",
]


def random_one(chance: random.Random) -> str:
    """Return an expression of the whole grammar."""
    day, weekday = _days(chance)
    return " ".join(
        [
            _field(chance, 0, 59),
            _field(chance, 0, 23, near=range(5)),
            day,
            chance.choice(["*"] * 6 + ["3,4,10,11", "MAR-NOV", "OCT", "1/3", "3/7"]),
            weekday,
            chance.choice(["*"] * 6 + ["2026-2028", "2025/2", "2027,2029"]),
        ]
    )


def many(count: int) -> list[str]:
    """Return ``count`` different ones, always the same."""
    chance = random.Random(20261129)  # noqa: S311 - repeatable, guards nothing
    found = dict.fromkeys(each.upper() for each in CHOSEN)
    while len(found) < count:
        found[random_one(chance)] = None
    return list(found)[:count]


def _field(
    chance: random.Random, low: int, high: int, near: range | None = None
) -> str:
    def number() -> int:
        # Most transitions lie in the small hours: so do most of the times.
        if near is not None and chance.random() < 0.7:
            return chance.choice(near)
        return chance.randint(low, high)

    match chance.randrange(6):
        case 0:
            return "*"
        case 1:
            return f"{number()}/{chance.randint(1, high)}"
        case 2:
            return f"*/{chance.randint(1, high)}"
        case 3:
            first, last = sorted((number(), number()))
            return f"{first}-{last}"
        case 4:
            # cronsim takes 1-1/3 for 1/3: a range with a step has a length.
            first = min(number(), high - 1)
            last = chance.randint(first + 1, high)
            return f"{first}-{last}/{chance.randint(1, 5)},{number()}"
        case _:
            return ",".join(str(number()) for _ in range(chance.randint(1, 3)))


def _days(chance: random.Random) -> tuple[str, str]:
    names = ["SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT"]
    weekday = chance.choice([str(chance.randint(1, 7)), chance.choice(names)])
    by_day = ["*", "L", "LW", f"{chance.randint(1, 31)}W", str(chance.randint(1, 31))]
    by_day += ["*/2", "1-7", "8-14,25-31", f"{chance.randint(1, 20)}/3"]
    by_weekday = ["*", "L", f"{weekday}L", f"{weekday}#{chance.randint(1, 5)}", weekday]
    by_weekday += ["MON-FRI", "1,7", "SUN,WED,FRI", "2-6/2"]
    if chance.random() < 0.5:
        return chance.choice(by_day), "?"
    return "?", chance.choice(by_weekday)
