"""When a schedule fires: EventBridge's cron grammar, rates, one-off times, zones."""

from lambdas.shared.cron.grammar import Cron, CronError, parse
from lambdas.shared.cron.times import (
    AtTime,
    CronTimes,
    NoSuchTimeError,
    RateTimes,
    Times,
    longest_of,
    period_of,
    times_from,
    times_of,
)

__all__ = [
    "AtTime",
    "Cron",
    "CronError",
    "CronTimes",
    "NoSuchTimeError",
    "RateTimes",
    "Times",
    "longest_of",
    "parse",
    "period_of",
    "times_from",
    "times_of",
]
