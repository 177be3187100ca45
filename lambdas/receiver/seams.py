"""What is signed, put together from parts of which no byte can move to its neighbour.

A signature covers one text; where its parts begin and end it does not say. Id "a"
before body "b.c" is signed as id "a.b" before body "c": a captured request would be
accepted again, under another id. So each part is refused that could be read in two
ways. What cannot be told apart at all is refused with the fleet
(``lambdas.shared.fleet.sources``).
"""

from __future__ import annotations

from collections.abc import Sequence

from lambdas.receiver.request import Request
from lambdas.receiver.schemes import BODY, TIME, Part
from lambdas.shared.errors import Code, Rejected


def parts(words: Sequence[str], *, id_header: str, time_header: str) -> list[Part]:
    """Return the parts that ``words`` stand for: placeholders, and texts as they are.

    The parts raise ``Rejected`` for a request that could be read in two ways.
    """
    return [
        _part(
            word, (*words[:at][-1:],), (*words[at + 1 :][:1],), id_header, time_header
        )
        for at, word in enumerate(words)
    ]


def _part(
    word: str,
    before: tuple[str, ...],
    after: tuple[str, ...],
    id_header: str,
    time_header: str,
) -> Part:
    match word:
        case "{timestamp}":
            return TIME
        case "{id}":
            return _id(id_header, {*before, *after}, time_header)
        case "{body}":
            return _body(before, after, time_header)
    return word.encode()


def _id(name: str, beside: set[str], time_header: str) -> Part:
    apart = {word for word in beside if not word.startswith("{")}

    def part(request: Request) -> bytes:
        value = request.header(name)
        for word in apart:
            if word in value:
                raise Rejected(Code.BAD_SIGNATURE, f"the id holds {word!r} itself")
        # An id's last noughts in front of a time do not change the time.
        if "{timestamp}" in beside and request.header(time_header).startswith("0"):
            raise Rejected(Code.BAD_SIGNATURE, "the signed time begins with a nought")
        return value.encode("utf-8", "surrogatepass")

    return part


def _body(before: tuple[str, ...], after: tuple[str, ...], time_header: str) -> Part:
    if "{timestamp}" not in before + after:
        return BODY

    def part(request: Request) -> bytes:
        body = request.body
        near = body[:1] if "{timestamp}" in before else b""
        near += body[-1:] if "{timestamp}" in after else b""
        # Times that are not digits alone say themselves where they end.
        if request.header(time_header).isdigit() and any(
            digit in b"0123456789" for digit in near
        ):
            raise Rejected(Code.BAD_SIGNATURE, "nothing separates body and time")
        return body

    return part
