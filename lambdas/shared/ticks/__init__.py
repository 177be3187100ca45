"""Ticks: accepted once, one after another where that is asked for."""

from lambdas.shared.ticks.firing import Fired, Ticks
from lambdas.shared.ticks.line import MISSED, Line, Look, Standing, pk_of
from lambdas.shared.ticks.tick import (
    Tick,
    item_key,
    planned_of,
    schedule_of,
    text_of,
)

__all__ = [
    "MISSED",
    "Fired",
    "Line",
    "Look",
    "Standing",
    "Tick",
    "Ticks",
    "item_key",
    "pk_of",
    "planned_of",
    "schedule_of",
    "text_of",
]
