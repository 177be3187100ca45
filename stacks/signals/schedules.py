"""Alarms of the schedules, and of the watcher who looks after them."""

from __future__ import annotations

from lambdas.shared.fleet import logical_name
from stacks.alarms import Alarm, Alarms, ours
from stacks.signals.watched import Watched

_BECAUSE_EVERY_FIRE = "every fire is somebody's work; grace_seconds is over already."


def add(fleet: Watched, alarms: Alarms) -> None:
    """Add one per schedule for its missed fires, and the others over all of them."""
    if "watcher" not in fleet.functions:
        return
    for name in fleet.schedules:
        alarms.add(_missed_of(name), id=f"Missed{logical_name(name)}")
    for alarm in (_missed(), _late(), _overruns(), _failed(), _heartbeat()):
        alarms.add(alarm)


def _missed_of(schedule: str) -> Alarm:
    return Alarm(
        name="missed-fires",
        meaning=f"The schedule {schedule} should have fired and has not.",
        because=_BECAUSE_EVERY_FIRE,
        metrics={"missed": ours("MissedFires", Schedule=schedule)},
        threshold=1,
        # The one over all of them does: one alarm may stand for a hundred others,
        # a fleet may have more schedules.
        pages=False,
    )


def _missed() -> Alarm:
    return Alarm(
        name="missed-fires",
        meaning="Some schedule should have fired and has not; the alarm of its own"
        " says which.",
        because=_BECAUSE_EVERY_FIRE,
        metrics={"missed": ours("MissedFires")},
        threshold=1,
        pages=True,
    )


def _late() -> Alarm:
    return Alarm(
        name="late-fires",
        meaning="A tick came later than its grace.",
        because="Scheduler is exact to the minute; later means that it had to retry.",
        metrics={"late": ours("LateFires")},
        threshold=1,
        pages=False,
    )


def _overruns() -> Alarm:
    return Alarm(
        name="overruns",
        meaning="A run took longer than the time to the next fire of its schedule.",
        because="from here on ticks are skipped, wait, or run side by side.",
        metrics={"overruns": ours("Overruns")},
        threshold=1,
        pages=False,
    )


def _failed() -> Alarm:
    return Alarm(
        name="failed-ticks",
        meaning="The run of a tick ended as a dead letter, or never began.",
        because="nobody else will run it again.",
        metrics={"failed": ours("FailedTicks")},
        threshold=1,
        pages=False,
    )


def _heartbeat() -> Alarm:
    return Alarm(
        name="watcher-heartbeat",
        meaning="The watcher is not at work: no schedule is watched.",
        because="it reports every 5 minutes; three in a row are no accident.",
        metrics={"beats": ours("WatcherHeartbeat")},
        is_at_fault="<",
        threshold=1,
        least=3,
        of=3,
        missing="breaching",
        # Its own first report comes within minutes of the deployment.
        warm_up_minutes=30,
        pages=True,
    )
