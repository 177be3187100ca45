"""EventBridge Scheduler on this machine, by the clock file: what the engine's lacks.

The schedules are those of the engine, deployed or made at run time; zones, context
attributes, failure queues and self-deleting schedules are played here. Time that
passes makes them fire; a clock that is set forward makes a hole, as an outage would:
what was due in it is not sent, and the watcher tells of it. Calls that carry no
planned time (the watcher's own, the sweep's) are made once after such a hole.

``schedules.json`` beside the clock file says how far it has come: ``bellhop clock
advance`` goes by it from fire to fire.
"""

from __future__ import annotations

import threading
import time
import traceback
import uuid
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from itertools import takewhile
from pathlib import Path
from typing import Any

from lambdas.shared import clock
from lambdas.shared.clock import rfc3339
from lambdas.shared.cron import Times, times_from
from local import engine
from local.home import Home, write_json
from local.stack import client_of

FILE = "schedules.json"

_PLANNED = "<aws.scheduler.scheduled-time>"
# Scheduler is exact to the minute: more than that between two looks is a hole.
_HOLE = timedelta(seconds=60)
_LOOK_SECONDS = 1.0
_GLANCE_SECONDS = 0.03
_TRIES = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """A schedule of the engine, and since when it is known here."""

    name: str
    group: str
    arn: str
    times: Times
    since: datetime
    target: Mapping[str, Any]
    is_enabled: bool
    deletes_itself: bool

    @property
    def is_planned(self) -> bool:
        """Whether its function is told the planned time."""
        return _PLANNED in self.target.get("Input", "")

    def due(self, begun: datetime, now: datetime) -> list[datetime]:
        """Return what is to be sent now, the last look having been at ``begun``."""
        if not self.is_enabled:
            return []
        coming = self.times.after(max(begun, self.since))
        dues = list(takewhile(lambda due: due <= now, coming))
        if not self.is_planned:
            return dues[-1:]
        is_hole = now - begun > _HOLE
        return [due for due in dues if due > now - _HOLE] if is_hole else dues

    def input(self, due: datetime) -> str:
        """Return what its function is given, the context attributes put in."""
        text: str = self.target.get("Input", "{}")
        for attribute, value in (
            (_PLANNED, f"{due.astimezone(UTC):%Y-%m-%dT%H:%M:%SZ}"),
            ("<aws.scheduler.execution-id>", uuid.uuid4().hex),
            ("<aws.scheduler.attempt-number>", "1"),
            ("<aws.scheduler.schedule-arn>", self.arn),
        ):
            text = text.replace(attribute, value)
        return text


@dataclass(kw_only=True)
class Scheduler:
    """Sends what is due, look after look; ``client`` makes clients of the engine."""

    client: Callable[[str], Any]
    now: Callable[[], datetime]
    _seen: datetime | None = None
    #: The last ones sent, so that a slower reader misses none.
    _sent: deque[dict[str, str]] = field(default_factory=lambda: deque(maxlen=200))
    _known: dict[str, tuple[Any, Found]] = field(default_factory=dict)

    def look(self) -> dict[str, Any]:
        """Send what has become due since the last look; say how far it has come."""
        now = self.now()
        found = self._schedules(now)
        begun = now if self._seen is None or now < self._seen else self._seen
        for each in found:
            for due in each.due(begun, now):
                sent = {"due": rfc3339(due), "input": self._send(each, due)}
                if each.is_planned:
                    self._sent.append(sent)
        self._seen = now
        coming = [
            due
            for each in found
            if each.is_planned and each.is_enabled
            for due in [next(each.times.after(now), None)]
            if due is not None
        ]
        return {
            "at": rfc3339(now),
            "next": rfc3339(min(coming)) if coming else None,
            "sent": list(self._sent),
        }

    def _schedules(self, now: datetime) -> list[Found]:
        listed = self.client("scheduler").list_schedules(MaxResults=100)["Schedules"]
        known = self._known
        self._known = {}
        for each in listed:
            changed = each["LastModificationDate"]
            old = known.get(each["Arn"])
            if old is None or old[0] != changed:
                since = now if old is None else old[1].since
                old = (changed, self._read(each["Name"], each["GroupName"], since))
            self._known[each["Arn"]] = old
        return [found for _, found in self._known.values()]

    def _read(self, name: str, group: str, since: datetime) -> Found:
        told = self.client("scheduler").get_schedule(Name=name, GroupName=group)
        zone = told.get("ScheduleExpressionTimezone", "UTC")
        return Found(
            name=name,
            group=group,
            arn=told["Arn"],
            times=times_from(told["ScheduleExpression"], zone, anchor=since),
            since=since,
            target=told["Target"],
            is_enabled=told.get("State") != "DISABLED",
            deletes_itself=told.get("ActionAfterCompletion") == "DELETE",
        )

    def _send(self, schedule: Found, due: datetime) -> str:
        """Call the function; what it cannot be given goes to the failure queue."""
        text = schedule.input(due)
        for attempt in range(_TRIES):
            try:
                self.client("lambda").invoke(
                    FunctionName=schedule.target["Arn"],
                    InvocationType="Event",
                    Payload=text.encode(),
                )
                break
            except Exception as error:
                if attempt + 1 == _TRIES:
                    self._lose(schedule, text, error)
        if schedule.deletes_itself and next(schedule.times.after(due), None) is None:
            self.client("scheduler").delete_schedule(
                Name=schedule.name, GroupName=schedule.group
            )
        return text

    def _lose(self, schedule: Found, text: str, error: Exception) -> None:
        queue = schedule.target.get("DeadLetterConfig", {}).get("Arn")
        if queue is None:
            return
        sqs = self.client("sqs")
        url = sqs.get_queue_url(QueueName=queue.rpartition(":")[2])["QueueUrl"]
        told = {"ERROR_MESSAGE": str(error)[:200], "SCHEDULE_ARN": schedule.arn}
        sqs.send_message(
            QueueUrl=url,
            MessageBody=text,
            MessageAttributes={
                name: {"DataType": "String", "StringValue": value}
                for name, value in told.items()
            },
        )


def run(home: Home, endpoint: str, stopping: threading.Event) -> None:
    """Look every second, and whenever the clock file has changed, until the end."""

    def client(service: str) -> Any:
        return client_of(
            service,
            endpoint,
            engine.REGION,
            engine.ACCESS_KEY_ID,
            engine.SECRET_ACCESS_KEY,
        )

    scheduler = Scheduler(client=client, now=lambda: _now(home.clock))
    state, looked = None, 0.0
    while not stopping.wait(_GLANCE_SECONDS):
        if not home.stack_file.exists():
            continue
        changed = _changed(home.clock)
        if changed == state and time.monotonic() - looked < _LOOK_SECONDS:
            continue
        try:
            told = scheduler.look()
            write_json(home.folder / FILE, told)
        except Exception:
            # The next look is a second away; at the end the engine is gone already.
            if not stopping.is_set():
                traceback.print_exc()
        state, looked = changed, time.monotonic()


def _now(file: Path) -> datetime:
    text = file.read_text(encoding="utf-8").strip() if file.exists() else ""
    return clock.parse(text) if text else clock.now()


def _changed(file: Path) -> Any:
    try:
        return file.stat().st_mtime_ns
    except FileNotFoundError:
        return None
