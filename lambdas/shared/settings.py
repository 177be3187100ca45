"""What the stack tells a function through its environment, spelled once.

The stack writes one of these objects with :meth:`Settings.to_env`; the
function reads it back with :meth:`Settings.from_env`. A field ``ledger_table``
is the variable ``LEDGER_TABLE``. Everything that is the same in every
deployment comes from ``fleet.toml`` in the function's own asset instead.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from typing import Self

from lambdas.shared.errors import Misconfigured


@dataclass(frozen=True, kw_only=True)
class Settings:
    """A function's settings; every field is text."""

    def to_env(self) -> dict[str, str]:
        """Return the environment variables that :meth:`from_env` reads."""
        return {f.name.upper(): getattr(self, f.name) for f in fields(self)}

    @classmethod
    def from_env(cls, environ: Mapping[str, str]) -> Self:
        """Read the settings back.

        Raises:
            Misconfigured: variables are missing; all of them are named.
        """
        missing = [
            f.name.upper() for f in fields(cls) if not environ.get(f.name.upper())
        ]
        if missing:
            raise Misconfigured(
                f"{cls.__name__}: not in the environment: {', '.join(missing)}"
            )
        return cls(**{f.name: environ[f.name.upper()] for f in fields(cls)})


@dataclass(frozen=True, kw_only=True)
class LedgerSettings(Settings):
    """Where events are written down."""

    ledger_table: str
    payload_bucket: str


@dataclass(frozen=True, kw_only=True)
class ReceiverSettings(LedgerSettings):
    """The receiver writes events and nothing else."""


@dataclass(frozen=True, kw_only=True)
class RelaySettings(LedgerSettings):
    """The relay, and the sweep behind it, publish what was accepted."""

    bus_name: str
    parked_queue_url: str


@dataclass(frozen=True, kw_only=True)
class SweepSettings(LedgerSettings):
    """The sweep also looks at how much waits in the agents' queues.

    ``queue_urls`` is a JSON list in the order of the fleet's agents: the URL of
    the first queue, and of the others the name, which is all that differs.
    (Lambda takes 4 KB of variables; the URLs of a full fleet are more.)
    """

    bus_name: str
    queue_urls: str

    def queues_of(self, agents: Iterable[str]) -> dict[str, str]:
        """Return the queue URLs by the agents' names, given in the fleet's order."""
        return _urls(self.queue_urls, agents)


@dataclass(frozen=True, kw_only=True)
class DigestSettings(LedgerSettings):
    """The digest reads every failure queue and tells what is in them.

    ``queue_urls`` as for the sweep: the agents' dead letters in the fleet's
    order, then those of rules, schedules, relay and asynchronous functions.
    ``topic_arn`` is ``none`` where nobody asked for mail.
    """

    queue_urls: str
    stack_name: str
    region: str
    topic_arn: str

    def queues_of(self, names: Iterable[str]) -> dict[str, str]:
        """Return the failure queues' URLs by name, given in that order."""
        return _urls(self.queue_urls, names)


@dataclass(frozen=True, kw_only=True)
class CronSettings(LedgerSettings):
    """The cron function writes ticks down and nothing else."""


@dataclass(frozen=True, kw_only=True)
class WatcherSettings(LedgerSettings):
    """The watcher reads what became of ticks, and lets the next in line begin."""


@dataclass(frozen=True, kw_only=True)
class PlannerSettings(LedgerSettings):
    """The planner keeps one-off schedules that call it: in a group, as a role."""

    schedule_group: str
    schedule_role: str
    schedule_failures: str


@dataclass(frozen=True, kw_only=True)
class PollerSettings(LedgerSettings):
    """The poller writes events down, and how far it has come."""


@dataclass(frozen=True, kw_only=True)
class WorkerSettings(LedgerSettings):
    """A worker serves one agent from one queue."""

    agent_name: str
    queue_url: str


def _urls(queue_urls: str, names: Iterable[str]) -> dict[str, str]:
    listed: list[str] = json.loads(queue_urls)
    base = listed[0].rpartition("/")[0] if listed else ""
    urls = [f"{base}/{each.rpartition('/')[2]}" for each in listed]
    return dict(zip(names, urls, strict=True))
