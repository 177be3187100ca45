"""Where a verb goes: the local stack, or one that is deployed."""

from __future__ import annotations

import contextlib
import functools
import getpass
import json
import os
import threading
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

import boto3
from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError, NoRegionError

from cli.output import OutOfReachError, UsageError
from lambdas.shared import clock
from lambdas.shared.adapters.dynamodb import DynamoTable
from lambdas.shared.adapters.s3 import S3Bodies
from lambdas.shared.fleet import Fleet, FleetError, load
from lambdas.shared.ledger import TableLedger
from lambdas.shared.outside import WORLD_URL_VARIABLE

ROOT = Path(__file__).resolve().parent.parent
LOCAL_FOLDER_VARIABLE = "BELLHOP_LOCAL_FOLDER"

# A person waits at the terminal: better one clear sentence than a minute of silence.
_CONFIG = Config(
    connect_timeout=3,
    read_timeout=20,
    retries={"mode": "standard", "total_max_attempts": 3},
    user_agent_extra="bellhop-cli",
)
# The engine has one address for every bucket.
_LOCAL_CONFIG = _CONFIG.merge(Config(s3={"addressing_style": "path"}))


@dataclass(frozen=True, kw_only=True)
class Target:
    """A stack that answers; ``clock_file`` is there on the local one alone."""

    name: str
    api_url: str
    ledger_table: str
    payload_bucket: str
    bus: str
    outputs: Mapping[str, str]
    session: boto3.Session = field(repr=False)
    endpoint: str | None = None
    secrets: Mapping[str, str] = field(default_factory=dict)
    clock_file: Path | None = None
    fleet_file: Path | None = None
    world_url: str | None = None
    _clients: dict[str, Any] = field(default_factory=dict, init=False, repr=False)
    _making: threading.Lock = field(
        default_factory=threading.Lock, init=False, repr=False
    )

    @property
    def is_local(self) -> bool:
        """Whether it runs on this machine."""
        return self.endpoint is not None

    @property
    def as_of(self) -> str:
        """What to say after fleet.toml, where an edit since `make up` is not seen."""
        return " as `make up` took it" if self.fleet_file else ""

    def client(self, service: str) -> Any:
        """Return the client of ``service`` for this stack, made once."""
        with self._making:  # a session is not safe in threads, its clients are
            if service not in self._clients:
                self._clients[service] = self._new_client(service)
            return self._clients[service]

    def _new_client(self, service: str) -> Any:
        return self.session.client(  # type: ignore[call-overload]
            service,
            endpoint_url=self.endpoint,
            config=_LOCAL_CONFIG if self.is_local else _CONFIG,
        )

    def who(self) -> str:
        """Return who the audit says it was."""
        if self.is_local:
            return getpass.getuser()
        arn: str = self.client("sts").get_caller_identity()["Arn"]
        return arn

    @contextlib.contextmanager
    def outside(self) -> Iterator[None]:
        """Let what is called inside be the local stack's outside world, if it is one.

        A feed's address leads there for its functions, too.
        """
        before = os.environ.get(WORLD_URL_VARIABLE)
        if self.world_url:
            os.environ[WORLD_URL_VARIABLE] = self.world_url
        try:
            yield
        finally:
            if self.world_url:
                del os.environ[WORLD_URL_VARIABLE]
            if before is not None:
                os.environ[WORLD_URL_VARIABLE] = before

    def now(self) -> datetime:
        """Return the time as the stack sees it."""
        text = ""
        if self.clock_file is not None and self.clock_file.exists():
            text = self.clock_file.read_text(encoding="utf-8").strip()
        return clock.parse(text) if text else clock.now()

    @functools.cached_property
    def fleet(self) -> Fleet:
        """The fleet that was deployed.

        Raises:
            UsageError: ``fleet.toml`` cannot be read.
        """
        try:
            return load(self.fleet_file)
        except FleetError as error:
            raise UsageError(str(error)) from error
        except OSError as error:
            raise UsageError(f"{error.filename}: {error.strerror}") from error

    @functools.cached_property
    def table(self) -> DynamoTable:
        """The rows of the ledger."""
        return DynamoTable(self.ledger_table, lambda: self.client("dynamodb"))

    @functools.cached_property
    def ledger(self) -> TableLedger:
        """The ledger of this stack."""
        days = self.fleet.ledger_days
        return TableLedger(self.table, self.bodies, ledger_days=days)

    @functools.cached_property
    def bodies(self) -> S3Bodies:
        """Where large bodies lie."""
        return S3Bodies(self.payload_bucket, lambda: self.client("s3"))

    def secret_id(self, source: str) -> str:
        """Return what the secret of ``source`` is called in Secrets Manager.

        Raises:
            UsageError: the fleet has no such source, or it is a feed.
        """
        if source in self.secrets:
            return self.secrets[source]
        if source in self.fleet.feeds:
            raise UsageError(
                f"source {source!r} is a feed, which is looked at and never called:"
                f" `bellhop poll {source}`"
            )
        if source not in self.fleet.sources:
            there = ", ".join(self.fleet.sources) or "none"
            raise UsageError(
                f"no source {source!r} in fleet.toml{self.as_of}; there are: {there}"
            )
        return self.fleet.sources[source].secret_name


def find(
    *, local: bool, stack: str | None, profile: str | None, region: str | None
) -> Target:
    """Return the stack that the options name.

    Without ``--local`` or ``--stack`` it is the local one if that is up: a
    command never reaches into an account that it was not told of.

    Raises:
        UsageError: the options contradict each other, or name nothing.
        OutOfReachError: the stack is not there.
    """
    if local and stack:
        raise UsageError("--local and --stack exclude each other")
    if stack:
        return _deployed(stack, profile, region)
    if profile or region:
        raise UsageError("--profile and --region need --stack NAME")
    if local or stack_file().exists():
        return _local(stack_file())
    raise UsageError("say --stack NAME, or start the local stack with `make up`")


def stack_file() -> Path:
    """Return where the local stack says how it is reached."""
    folder = os.environ.get(LOCAL_FOLDER_VARIABLE) or ROOT / ".local"
    return Path(folder) / "stack.json"


def _local(file: Path) -> Target:
    try:
        stack = json.loads(file.read_text(encoding="utf-8"))
        is_running = _is_running(stack["pid"])
        target = _described(stack, fleet_file=file.with_name("fleet.toml"))
    except FileNotFoundError:
        raise OutOfReachError(
            "the local stack is not up; start it with `make up`"
        ) from None
    except (OSError, ValueError, LookupError, TypeError, OverflowError) as error:
        raise OutOfReachError(
            f"{file} does not say how the local stack is reached"
            f" ({type(error).__name__}); `make down`, then `make up`"
        ) from error
    if not is_running:
        raise OutOfReachError(
            "the local stack has ended without a word; `make down`, then `make up`"
        )
    return target


def _described(stack: Mapping[str, Any], *, fleet_file: Path) -> Target:
    return Target(
        name="local",
        api_url=stack["api_url"],
        ledger_table=stack["ledger_table"],
        payload_bucket=stack["payload_bucket"],
        bus=stack["bus"],
        outputs=stack["outputs"],
        session=boto3.Session(
            aws_access_key_id=stack["access_key_id"],
            aws_secret_access_key=stack["secret_access_key"],
            region_name=stack["region"],
        ),
        endpoint=stack["endpoint"],
        secrets=stack["secrets"],
        clock_file=Path(stack["clock_file"]),
        # A copy of what was deployed; without one (another's stack.json), ours.
        fleet_file=fleet_file if fleet_file.exists() else None,
        world_url=stack["world_url"],
    )


def _is_running(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def _deployed(name: str, profile: str | None, region: str | None) -> Target:
    try:
        session = boto3.Session(profile_name=profile, region_name=region)
        formation = session.client("cloudformation", config=_CONFIG)
        (stack,) = formation.describe_stacks(StackName=name)["Stacks"]
    except ClientError as error:
        message = error.response["Error"].get("Message", str(error))
        raise OutOfReachError(f"stack {name}: {message}") from error
    except NoRegionError:
        raise OutOfReachError(
            f"stack {name}: no region; say --region, or set AWS_DEFAULT_REGION"
        ) from None
    except (BotoCoreError, ValueError) as error:
        raise OutOfReachError(f"stack {name}: {error}") from error
    outputs = {o["OutputKey"]: o["OutputValue"] for o in stack.get("Outputs", [])}
    missing = {"ApiUrl", "BusName", "LedgerTable", "PayloadBucket"} - outputs.keys()
    if missing:
        raise OutOfReachError(
            f"stack {name} has no output {', '.join(sorted(missing))}: not a Bellhop"
        )
    return Target(
        name=name,
        api_url=outputs["ApiUrl"],
        ledger_table=outputs["LedgerTable"],
        payload_bucket=outputs["PayloadBucket"],
        bus=outputs["BusName"],
        outputs=outputs,
        session=session,
    )
