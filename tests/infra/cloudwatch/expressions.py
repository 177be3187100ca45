"""Metric math, as far as our alarms use it.

``IF``, ``FILL``, ``SUM``, ``MAX``, ``DIFF``, arithmetic and comparisons.
A series is a list of values by period, ``None`` where there is no data point.
"""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Mapping

Series = list[float | None]
_Value = Series | float | list[Series]

_OPERATORS: dict[type[ast.AST], Callable[[float, float], float]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
}


def evaluate(expression: str, metrics: Mapping[str, Series]) -> Series:
    """Return what ``expression`` makes of ``metrics``, all of one length."""
    length = max(map(len, metrics.values()))
    body = ast.parse(expression, mode="eval").body
    return _spread(_value(body, metrics, length), length)


def _value(node: ast.expr, metrics: Mapping[str, Series], length: int) -> _Value:
    def of(inner: ast.expr) -> Series:
        return _spread(_value(inner, metrics, length), length)

    match node:
        case ast.Constant(value=int() | float() as number):
            return float(number)
        case ast.Name(id=name):
            return metrics[name]
        case ast.List(elts=elements):
            return [of(element) for element in elements]
        case ast.BinOp(left=left, op=op, right=right):
            return _pairwise(_OPERATORS[type(op)], of(left), of(right))
        case ast.Compare(left=left, ops=[op], comparators=[right]):
            return _pairwise(_OPERATORS[type(op)], of(left), of(right))
        case ast.Call(func=ast.Name(id=name), args=arguments):
            return _call(name, arguments, metrics, length)
    raise ValueError(f"no metric math: {ast.unparse(node)}")


def _call(
    name: str, arguments: list[ast.expr], metrics: Mapping[str, Series], length: int
) -> Series:
    def of(inner: ast.expr) -> Series:
        return _spread(_value(inner, metrics, length), length)

    match name, arguments:
        case "FILL", [series, ast.Constant(value=filler)]:
            return [float(filler) if v is None else v for v in of(series)]  # type: ignore[arg-type]
        case "IF", [condition, then, otherwise]:
            chosen = zip(of(condition), of(then), of(otherwise), strict=True)
            return [None if c is None else t if c else o for c, t, o in chosen]
        case "DIFF", [series]:
            values = of(series)
            steps = _pairwise(operator.sub, values[1:], values[:-1])
            return [None, *steps]
        case (("SUM" | "MAX"), [ast.List(elts=elements)]):
            fold = sum if name == "SUM" else max
            columns = zip(*(of(element) for element in elements), strict=True)
            known = [[v for v in column if v is not None] for column in columns]
            return [float(fold(values)) if values else None for values in known]
    raise ValueError(f"no metric math: {name} of {len(arguments)}")


def _pairwise(
    operate: Callable[[float, float], float], left: Series, right: Series
) -> Series:
    def apply(a: float | None, b: float | None) -> float | None:
        if a is None or b is None or (operate is operator.truediv and b == 0):
            return None
        return float(operate(a, b))

    return [apply(a, b) for a, b in zip(left, right, strict=True)]


def _spread(value: _Value, length: int) -> Series:
    if isinstance(value, float):
        return [value] * length
    return value  # type: ignore[return-value]
