"""Reading a TOML table so that every problem is found, not only the first one."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from datetime import date
from typing import Any

from lambdas.shared.errors import Misconfigured

NAME = re.compile(r"[a-z][a-z0-9-]{0,39}")
_NAME_WANTED = "a name of a-z, 0-9 and -, a letter first, at most 40 long"


class FleetError(Misconfigured):
    """The fleet cannot be deployed; ``problems`` holds a line for each reason."""

    def __init__(self, problems: Sequence[str]) -> None:
        """Refuse a fleet; each problem says where it is and what was wanted."""
        super().__init__("\n".join(problems))
        self.problems = list(problems)


def did_you_mean(word: str, known: Collection[str]) -> str:
    """Return ``; did you mean '...'?``, or nothing where no known word is near."""
    # Imported here: only a broken fleet pays for it.
    import difflib

    near = difflib.get_close_matches(word, list(known), n=1, cutoff=0.6)
    if not near:
        near = [k for k in known if k.startswith(f"{word}_")][:1]
    return f"; did you mean {near[0]!r}?" if near else ""


def shown(value: object) -> str:
    """Return ``value`` as a message quotes it, cut where it is long."""
    if isinstance(value, bool):
        return str(value).lower()
    text = value.isoformat() if isinstance(value, date) else repr(value)
    return text if len(text) <= 60 else text[:57] + "..."


class Table:
    """One table of the file: hands out its keys by type and notes what is wrong.

    A key that is missing, or wrong (then a problem is noted), yields its
    default, so that reading goes on and finds the next problem.
    """

    def __init__(self, path: str, values: object, problems: list[str]) -> None:
        """Read ``values``, found at ``path``; what is wrong goes to ``problems``."""
        self.path = path
        self._problems = problems
        self._asked: dict[str, None] = {}
        self._values: Mapping[str, Any] = {}
        if isinstance(values, dict):
            self._values = values
        else:
            self.problem("", f"want a table, got {shown(values)}")

    def problem(self, key: str, text: str) -> None:
        """Note a problem with ``key`` of this table (or the table itself: "")."""
        where = ".".join(part for part in (self.path, key) if part)
        self._problems.append(f"{where}: {text}" if where else text)

    def has(self, key: str) -> bool:
        """Whether the file says anything for ``key``, right or wrong."""
        self._asked[key] = None
        return key in self._values

    def raw(self, key: str) -> Any:
        """Return what the file says for ``key``, unchecked; None where nothing."""
        self._asked[key] = None
        return self._values.get(key)

    def text(self, key: str, *, want: str = "text") -> str | None:
        """Return a text that is not empty."""
        value = self.raw(key)
        if value is None or (isinstance(value, str) and value.strip()):
            return value
        self.problem(key, f"want {want}, got {shown(value)}")
        return None

    def matching(self, key: str, pattern: re.Pattern[str], want: str) -> str | None:
        """Return a text that ``pattern`` matches whole."""
        value = self.text(key, want=want)
        if value is None or pattern.fullmatch(value):
            return value
        self.problem(key, f"want {want}, got {shown(value)}")
        return None

    def choice(self, key: str, choices: Sequence[str]) -> str | None:
        """Return one of ``choices``."""
        value = self.raw(key)
        if value is None or (isinstance(value, str) and value in choices):
            return value
        near = did_you_mean(value, choices) if isinstance(value, str) else ""
        wanted = " | ".join(choices)
        self.problem(key, f"want {wanted}, got {shown(value)}{near}")
        return None

    def whole(self, key: str, low: int, high: int) -> int | None:
        """Return a whole number from ``low`` to ``high``."""
        value = self.raw(key)
        if value is None:
            return None
        is_whole = isinstance(value, int) and not isinstance(value, bool)
        if is_whole and low <= value <= high:
            return int(value)
        kind = "" if is_whole else "a whole number, "
        self.problem(key, f"want {kind}{low} to {high}, got {shown(value)}")
        return None

    def whole_or(self, key: str, default: int, low: int, high: int) -> int:
        """Return a whole number from ``low`` to ``high``, or ``default``."""
        value = self.whole(key, low, high)
        return default if value is None else value

    def boolean(self, key: str, *, default: bool) -> bool:
        """Return true or false."""
        value = self.raw(key)
        if value is None:
            return default
        if isinstance(value, bool):
            return value
        self.problem(key, f"want true or false, got {shown(value)}")
        return default

    def texts(
        self,
        key: str,
        *,
        want: str = "a list of texts",
        accept: Callable[[str], bool] = bool,
    ) -> tuple[str, ...]:
        """Return a list of texts, each of which ``accept`` takes."""
        value = self.raw(key)
        if value is None:
            return ()
        if not isinstance(value, list):
            self.problem(key, f"want {want}, got {shown(value)}")
            return ()
        good = [v for v in value if isinstance(v, str) and v.strip() and accept(v)]
        for wrong in (v for v in value if v not in good):
            self.problem(key, f"want {want}, got {shown(wrong)} in it")
        return tuple(good)

    def mapping(self, key: str) -> dict[str, Any]:
        """Return a table as it is, its values unchecked."""
        value = self.raw(key)
        if value is None or isinstance(value, dict):
            return dict(value or {})
        self.problem(key, f"want a table, got {shown(value)}")
        return {}

    def named(self, key: str) -> dict[str, Table]:
        """Return the tables below ``key``, by name; bad names are problems."""
        tables = {}
        for name, values in self.mapping(key).items():
            table = Table(f"{self._below(key)}.{name}", values, self._problems)
            if not NAME.fullmatch(name):
                table.problem("", f"want {_NAME_WANTED}, got {name!r}")
            if isinstance(values, dict):
                tables[name] = table
        return tables

    def each(self, key: str) -> list[Table]:
        """Return the tables of the list at ``key``, in order."""
        value = self.raw(key)
        if value is None:
            return []
        if not isinstance(value, list):
            self.problem(key, f"want a list of tables, got {shown(value)}")
            return []
        return [
            Table(f"{self._below(key)}[{index}]", item, self._problems)
            for index, item in enumerate(value)
        ]

    def child(self, key: str) -> Table:
        """Return the table at ``key``, an empty one where there is none."""
        values = self.raw(key) if self.has(key) else {}
        return Table(self._below(key), values, self._problems)

    def rest(self) -> dict[str, Any]:
        """Return what the file says under keys that nobody has asked for yet."""
        return {k: v for k, v in self._values.items() if k not in self._asked}

    def close(self) -> None:
        """Note every key of the file that nobody asked for."""
        for key in self.rest():
            self.problem(key, f"unknown key{did_you_mean(key, self._asked)}")

    def _below(self, key: str) -> str:
        return f"{self.path}.{key}" if self.path else key
