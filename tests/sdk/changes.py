"""What is done to a rightly signed request before both sides judge it."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

from tests.unit.receiver.door import Call

Change = Callable[[Call, str], Call]


def _header(change: Callable[[str], str | None]) -> Change:
    def changed(call: Call, header: str) -> Call:
        value = change(next(v for n, v in call.headers.items() if n.lower() == header))
        return call.without(header) if value is None else call.having(header, value)

    return changed


def _swapped(value: str) -> str:
    middle = len(value) // 2
    other = "0" if value[middle] != "0" else "1"
    return f"{value[:middle]}{other}{value[middle + 1 :]}"


# Each is done to every header that proves something, one at a time.
TO_HEADERS: dict[str, Change] = {
    "absent": _header(lambda _: None),
    "empty": _header(lambda _: ""),
    "capitals": _header(str.upper),
    "cut": _header(lambda value: value[:-1]),
    "longer": _header(lambda value: f"{value}0"),
    "one sign swapped": _header(_swapped),
    "twice, by comma": _header(lambda value: f"{value},{value}"),
    "junk": _header(lambda _: "junk"),
}

TO_BODIES: dict[str, Callable[[bytes], bytes]] = {
    "nothing": lambda body: body,
    "line end added": lambda body: body + b"\r\n",
    "blank added": lambda body: b" " + body,
    "last byte gone": lambda body: body[:-1],
    "empty": lambda _: b"",
    "one digit": lambda body: body.replace(b"0", b"1", 1),
}


def leaves(body: bytes) -> Iterator[tuple[str, bytes]]:
    """Yield every value of a JSON body by its path, and the body with it changed."""
    whole = json.loads(body)
    places: list[tuple[str, Any, Any]] = [("", None, None)]
    while places:
        path, holder, key = places.pop()
        value = whole if holder is None else holder[key]
        if isinstance(value, dict | list):
            keys = value if isinstance(value, dict) else range(len(value))
            places += [(f"{path}.{each}", value, each) for each in keys]
            continue
        holder[key] = value + 1 if isinstance(value, int) else f"{value}x"
        yield path.removeprefix("."), json.dumps(whole).encode()
        holder[key] = value


def with_body(call: Call, change: Callable[[bytes], bytes]) -> Call:
    """Return the request with another body, and the signature it had."""
    return replace(call, body=change(call.body))
