"""The fleet as everybody else sees it: frozen, checked, with its derived numbers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Literal

# SQS keeps a message 4 days in an agent's queue and 14, its longest, in a DLQ.
QUEUE_RETENTION_DAYS = 4
DLQ_RETENTION_DAYS = 14
# A dead letter of day 14 may be redriven, and then live a whole queue retention.
# The row must outlive it, and the run that begins then.
WAITING_DAYS = DLQ_RETENTION_DAYS + QUEUE_RETENTION_DAYS

# AWS: at least six times the function timeout, so that Lambda can retry a
# throttled batch before its messages reappear.
VISIBILITY_FACTOR = 6

# A worker that polls renews its message once a heartbeat; two may be missed.
HEARTBEATS_HIDDEN = 3

# SQS hides a message for at most 12 h after its receive. A run that lasts longer goes
# on under a new message before that.
LONGEST_HIDDEN_SECONDS = 11 * 3600

LAMBDA, FARGATE = "lambda", "fargate"

# What a pattern's bus is called when it is the fleet's own.
OWN_BUS = "bellhop"
DEFAULT_BUS = "default"

# Doors that no [sources] table opens: ticks, planned tasks and AWS events.
CRON, CALENDAR, AWS = "cron", "calendar", "aws"
BUILT_IN_SOURCES = (CRON, CALENDAR, AWS)

_NOTHING: Mapping[str, Any] = MappingProxyType({})


def bus_source(source: str) -> str:
    """Return what ``source`` is called on the bus."""
    return f"bellhop.{source}"


def logical_name(name: str) -> str:
    """Return ``name`` as CloudFormation outputs spell it: ``IssueTriage``."""
    return "".join(part.capitalize() for part in name.split("-"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Pick:
    """Where a generic sender's request holds a value.

    ``header`` and ``body`` name a header or a JSON path; ``text`` is the value.
    """

    where: Literal["header", "body", "text"]
    name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Generic:
    """How a sender that has no module of its own proves itself and names things.

    ``algorithm`` is an HMAC's hash, ``token`` (the header holds the secret
    itself, after ``prefix``) or ``basic`` (the secret is ``user:password``).
    ``signed`` is what the HMAC covers, with ``{body}``, ``{timestamp}`` and
    ``{id}`` in it.
    """

    algorithm: Literal["sha256", "sha1", "sha512", "token", "basic"]
    signature_header: str
    prefix: str = ""
    encoding: Literal["hex", "base64"] = "hex"
    signed: str = "{body}"
    timestamp_header: str | None = None
    id_from: Pick | None = None
    kind_from: Pick = Pick(where="text", name="received")
    tenant_from: Pick | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """A named door: ``/webhooks/<name>``, behind which one sender speaks.

    ``facts`` are JSON paths that the sender's own facts are extended by.
    ``identity`` is set where the delivery id is not the sender's (``body``:
    equal bodies are one event; ``request``: every request is a new one).
    ``options`` are words for the sender's module alone.
    """

    name: str
    sender: str
    secret_name: str
    tolerance_seconds: int | None = None
    allow_cidrs: tuple[str, ...] = ()
    public_url: str | None = None
    max_body_bytes: int = 4_500_000
    facts: tuple[str, ...] = ()
    ignore_actors: tuple[str, ...] = ()
    identity: Literal["body", "request"] | None = None
    generic: Generic | None = None
    options: Mapping[str, Any] = field(default_factory=lambda: _NOTHING)


@dataclass(frozen=True, slots=True, kw_only=True)
class Feed:
    """A source that nobody calls: the poller looks at what it publishes.

    ``url`` is its address; without one the secret holds it. ``authorization`` says
    how the secret is shown to the other side: ``bearer``, ``basic`` (it is
    ``user:password``) or ``header:NAME``. Exactly one of ``cron`` and ``rate`` is
    set. ``items`` is the JSON path of the list. Picks and ``facts`` are looked up in
    an item. ``first_run`` says what is accepted when the feed is new to us: nothing,
    all, or the newest so many; ``edits`` what becomes of an item that was changed
    under its id; ``max_items`` how many are accepted in one run.
    """

    name: str
    format: Literal["json", "rss"]
    secret_name: str
    url: str | None = None
    authorization: str | None = None
    cron: str | None = None
    rate: str | None = None
    timezone: str = "UTC"
    items: str | None = None
    id_from: Pick | None = None
    kind_from: Pick = Pick(where="text", name="item")
    time_from: Pick | None = None
    tenant_from: Pick | None = None
    facts: tuple[str, ...] = ()
    first_run: Literal["nothing", "all"] | int = "nothing"
    edits: Literal["ignore", "accept"] = "ignore"
    max_items: int = 100
    enabled: bool = True

    @property
    def secret(self) -> bool:
        """Whether anything of it is secret: the address, or what proves us."""
        return self.url is None or self.authorization is not None

    @property
    def expression(self) -> str:
        """When it is looked at, as EventBridge Scheduler takes it."""
        return f"cron({self.cron})" if self.cron else f"rate({self.rate})"


@dataclass(frozen=True, slots=True, kw_only=True)
class Subscription:
    """What one ``on`` entry asks for: an EventBridge pattern, on one bus."""

    pattern: Mapping[str, Any]
    bus: str = OWN_BUS


@dataclass(frozen=True, slots=True, kw_only=True)
class Grant:
    """What ``allow`` adds to an agent's role; no wildcards."""

    actions: tuple[str, ...]
    resources: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Agent:
    """The user's code, what it listens to and what it may cost.

    ``on`` holds the ``on`` entries of the file, and after them what its
    schedules and calendars send it. With ``compute = "fargate"`` a worker of its
    own polls the queue: ``cpu`` is in units (1024 are one), ``timeout_seconds`` says
    nothing, and work is expected every ``expect_every_minutes`` of the
    ``business_hours`` (see :mod:`lambdas.shared.fleet.hours`), local to ``timezone``.
    """

    name: str
    run: str
    on: tuple[Subscription, ...]
    everything: bool = False
    timeout_seconds: int = 60
    max_receives: int = 5
    batch_size: int = 1
    max_concurrency: int = 10
    max_runs_per_hour: int | None = None
    memory_mb: int = 512
    environment: Mapping[str, str] = field(default_factory=lambda: _NOTHING)
    was: str | None = None
    backoff_base_seconds: int = 2
    backoff_max_seconds: int = 900
    secrets: tuple[str, ...] = ()
    allow: tuple[Grant, ...] = ()
    compute: Literal["lambda", "fargate"] = "lambda"
    max_duration_seconds: int = 6 * 3600
    spot: bool = False
    cpu: int = 256
    heartbeat_seconds: int = 30
    stall_seconds: int = 900
    grace_seconds: int = 100
    business_hours: str | None = None
    timezone: str = "UTC"
    expect_every_minutes: int | None = None

    @property
    def polls(self) -> bool:
        """Whether a worker of its own polls the queue, instead of a function."""
        return self.compute == FARGATE

    @property
    def key(self) -> str:
        """The name its runs are kept under: a rename does not run them again."""
        return self.was or self.name

    @property
    def visibility_seconds(self) -> int:
        """How long a received message stays hidden; the lease ends before it."""
        if self.polls:
            return HEARTBEATS_HIDDEN * self.heartbeat_seconds
        return VISIBILITY_FACTOR * self.timeout_seconds

    @property
    def longest_attempt_seconds(self) -> int:
        """How long one message may work; a longer run goes on under the next."""
        if self.polls:
            return min(self.max_duration_seconds, LONGEST_HIDDEN_SECONDS)
        return self.timeout_seconds

    @property
    def module(self) -> str:
        """The module that holds the agent's function."""
        return self.run.partition(":")[0]

    @property
    def function(self) -> str:
        """The name of the agent's function in its module."""
        return self.run.partition(":")[2]

    @property
    def logical_name(self) -> str:
        """The name as outputs spell it: ``Queue<IssueTriage>``."""
        return logical_name(self.name)

    @property
    def patterns(self) -> tuple[Mapping[str, Any], ...]:
        """The EventBridge patterns, one per subscription."""
        return tuple(each.pattern for each in self.on)

    @property
    def buses(self) -> tuple[str, ...]:
        """The bus of each pattern, in the order of :attr:`patterns`."""
        return tuple(each.bus for each in self.on)

    @property
    def own_patterns(self) -> tuple[Mapping[str, Any], ...]:
        """The patterns on the fleet's own bus: what the relay can judge."""
        return tuple(each.pattern for each in self.on if each.bus == OWN_BUS)


@dataclass(frozen=True, slots=True, kw_only=True)
class Schedule:
    """When an agent is woken by the clock; exactly one of cron, rate, at is set.

    ``cron`` has EventBridge's six fields, ``rate`` is like ``15 minutes``,
    ``at`` like ``2026-12-24T08:00:00``, local to ``timezone``. A tick that comes
    more than ``max_lateness_seconds`` after its planned time (and the flexible
    window) is not run, unless ``catch_up`` says that ``all`` are, or the ``last``.
    """

    name: str
    agent: str
    cron: str | None = None
    rate: str | None = None
    at: str | None = None
    timezone: str = "UTC"
    overlap: Literal["skip", "queue", "concurrent"] = "skip"
    flexible_minutes: int = 0
    max_lateness_seconds: int | None = None
    grace_seconds: int = 300
    catch_up: Literal["last", "all"] | None = None
    items: tuple[Any, ...] = ()
    enabled: bool = True

    @property
    def expression(self) -> str:
        """The expression as EventBridge Scheduler takes it."""
        kinds = {"cron": self.cron, "rate": self.rate, "at": self.at}
        ((kind, text),) = ((k, text) for k, text in kinds.items() if text is not None)
        return f"{kind}({text})"


# Categories that everybody has: how early their work begins, and the titles by which
# they are known where a rule says nothing else.
BUILT_IN_CATEGORIES: Mapping[str, tuple[int, str]] = MappingProxyType(
    {
        "month-end-close": (2 * 24, r"/month[- ]?end/"),
        "quarterly-board": (5 * 24, r"/\bboard\b/"),
        "compliance-filing": (3 * 24, r"/\b(compliance|filing)\b/"),
        "weekly-client-digest": (4, r"/\bclient\b.*\bdigest\b/"),
    }
)


@dataclass(frozen=True, slots=True, kw_only=True)
class CalendarRule:
    """Which entries of a calendar are deadlines, whose, and how early to begin.

    ``title``, ``description``, ``tagged`` (the entry's own categories) and
    ``attendee`` are globs, or regular expressions between slashes; all that are
    given must match.
    """

    category: str
    agent: str
    title: str | None = None
    description: str | None = None
    tagged: str | None = None
    attendee: str | None = None
    buffer_hours: int = 0
    business_days: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Calendar:
    """A feed of deadlines; the secret holds its address, or a key of Google's.

    A calendar of Google's has ``calendar_id``; with a service account's key it may be
    read as the person ``act_as``.
    ``holidays`` is a country, or a part of one: ``DE``, ``DE-BY``, ``US-NY``.
    """

    name: str
    feed: Literal["ical", "google"]
    secret_name: str
    calendar_id: str = ""
    act_as: str | None = None
    timezone: str = "UTC"
    days_ahead: int = 60
    holidays: str | None = None
    rules: tuple[CalendarRule, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Digest:
    """When and where the dead letters are told."""

    time: str = "08:00"
    timezone: str = "UTC"
    secret_name: str = "bellhop/digest"  # noqa: S105  the name of it, not the secret
    channel: str | None = None
    all_clear: bool = False
    email: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Fleet:
    """Everything that one ``fleet.toml`` asks for.

    ``warm`` is how many receivers are kept started; None leaves it unsaid.
    ``reserved_receivers`` is how many may always start, whatever agents take.
    ``vpc`` and ``subnets`` are where the workers that poll live, instead of a network
    made for them; ``public_ip`` says that they need an address of their own there.
    """

    sources: Mapping[str, Source]
    agents: Mapping[str, Agent]
    feeds: Mapping[str, Feed] = field(default_factory=lambda: _NOTHING)
    schedules: Mapping[str, Schedule] = field(default_factory=lambda: _NOTHING)
    calendars: Mapping[str, Calendar] = field(default_factory=lambda: _NOTHING)
    digest: Digest | None = None
    ledger_days: int = 45
    warm: int | None = None
    reserved_receivers: int | None = None
    region: str | None = None
    vpc: str | None = None
    subnets: tuple[str, ...] = ()
    public_ip: bool = False

    @property
    def polling(self) -> Mapping[str, Agent]:
        """The agents whose workers poll, by name."""
        return {name: each for name, each in self.agents.items() if each.polls}
