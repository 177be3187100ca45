"""Starts and stops a local stack: keeper, engine, template, secrets, stack.json."""

from __future__ import annotations

import base64
import concurrent.futures
import contextlib
import os
import secrets
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from botocore.exceptions import BotoCoreError, ClientError

from lambdas.shared import fleet as fleets
from local import deploy, engine, keeper, synth, workers
from local.home import ROOT, Home, LocalError, is_alive, read_json, write_json
from local.stack import LocalStack, QueueOf, client_of, from_json

Say = Callable[[str], None]
Keeper = subprocess.Popen[bytes]

_KEEPER = "local.keeper"
# What the digest posts to; the outside world takes any path.
_SLACK = "https://hooks.slack.com/services/T0LOCAL/B0LOCAL/made-up"
# A key of Google's has a form; the outside world gives a token for any.
_GOOGLE = "bellhop/google-calendar"
_CONSENT = (
    '{"type": "authorized_user", "client_id": "made-up", "client_secret": "made-up",'
    ' "refresh_token": "made-up"}'
)
_KEEPER_SECONDS = 60

_SECRET = "AWS::SecretsManager::Secret"  # noqa: S105 - a resource's type


def up(
    home: Home,
    *,
    fleet: Path,
    port: int = 0,
    auth: bool = True,
    working: bool = True,
    say: Say = lambda _: None,
) -> tuple[LocalStack, Keeper]:
    """Bring a stack up; it lives as long as this process unless :func:`keep` is called.

    Without ``working`` the agents that poll have no worker until one is started.

    Raises:
        LocalError: something is in the way; nothing is left running.
    """
    _refuse_second(home)
    port = engine.free_port(port)
    engine.python()
    home.prepare()
    held = _start_keeper(home, port, auth=auth)
    try:
        stack = _fill(home, held, fleet=fleet, auth=auth, working=working, say=say)
    except (BotoCoreError, ClientError) as error:
        words = f"the local engine failed: {error}\n{engine.tail(home)}"
        end(held)
        raise LocalError(words) from error
    except BaseException:
        end(held)
        raise
    return stack, held


def keep(held: Keeper) -> None:
    """Let the stack outlive this process; ``down`` ends it."""
    if held.stdin is None:
        raise ValueError("the keeper was not started by this process")
    held.stdin.write(keeper.KEEP)
    held.stdin.close()


def end(held: Keeper) -> None:
    """End a stack that this process started; returns when nothing is left of it."""
    held.terminate()
    held.wait()
    if held.stdin is not None:
        with contextlib.suppress(OSError):
            held.stdin.close()


def down(home: Home, *, say: Say = lambda _: None) -> bool:
    """End the stack under ``home``; returns whether one was running.

    A stack whose keeper was killed leaves its files: they are removed too.
    """
    found = read_json(home.keeper_file)
    if found is None or not is_alive(found["pid"], _KEEPER):
        home.clear()
        return False
    say("ending the local stack: what runs is given a moment")
    os.kill(found["pid"], signal.SIGTERM)
    while is_alive(found["pid"], _KEEPER):
        time.sleep(0.05)
    home.clear()
    return True


@contextlib.contextmanager
def running(
    home: Home,
    *,
    fleet: Path,
    auth: bool = True,
    working: bool = True,
    say: Say = lambda _: None,
) -> Iterator[LocalStack]:
    """Bring a stack up for the length of a block; see :func:`up`."""
    stack, held = up(home, fleet=fleet, auth=auth, working=working, say=say)
    try:
        yield stack
    finally:
        end(held)


def _refuse_second(home: Home) -> None:
    found = read_json(home.keeper_file)
    if found is not None and is_alive(found["pid"], _KEEPER):
        raise LocalError(
            f"a local stack is already running (pid {found['pid']},"
            f" {found['endpoint']}): `make down` ends it"
        )


def _start_keeper(home: Home, port: int, *, auth: bool) -> Keeper:
    with home.keeper_log.open("wb") as log:
        return subprocess.Popen(
            [
                *(sys.executable, "-m", _KEEPER),
                *(str(home.folder), str(port), "auth" if auth else "open"),
            ],
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=log,
            stderr=subprocess.STDOUT,
            # Ctrl-C at the terminal reaches us alone, and we end it in order.
            start_new_session=True,
        )


def _fill(
    home: Home, held: Keeper, *, fleet: Path, auth: bool, working: bool, say: Say
) -> LocalStack:
    with concurrent.futures.ThreadPoolExecutor(max_workers=1) as pool:
        say("synthesising the stack")
        synthesised = pool.submit(synth.assembly, fleet)
        kept = _await_keeper(home, held)
        engine.await_ready(kept["endpoint"], kept["engine_pid"], home)
        assembly = synthesised.result()
        for warning in synth.warnings(fleet):
            say(f"  warning: {warning}")

    def client(service: str) -> Any:
        return client_of(
            service,
            kept["endpoint"],
            engine.REGION,
            engine.ACCESS_KEY_ID,
            engine.SECRET_ACCESS_KEY,
        )

    say("deploying the synthesised template to the local engine")
    target = deploy.Target(
        client=client,
        endpoint=kept["endpoint"],
        region=engine.REGION,
        is_judging=auth,
    )
    deployed = deploy.deploy(assembly, fleet, target)
    for deviation in deployed.deviations:
        say(f"  not as in AWS: {deviation}")
    loaded = fleets.load(fleet)
    secret_ids = _secret_ids(loaded, deployed)
    _set_secrets(client, secret_ids.values(), loaded)
    _make_tokens(client, {name for a in loaded.agents.values() for name in a.secrets})
    running = workers.Engine(
        client=client, endpoint=kept["endpoint"], world_url=kept["world_url"]
    )
    workers.describe(home, deployed, fleet, running, started=working)
    shutil.copyfile(fleet, home.fleet)
    told = _told(home, kept, deployed, loaded, secret_ids)
    write_json(home.stack_file, told)
    return from_json(told)


def _secret_ids(fleet: fleets.Fleet, deployed: deploy.Deployed) -> dict[str, str]:
    """Return the secret of each source that has one.

    A sender that proves itself with a public key it publishes has none.
    """
    made = {secret["Name"] for _, secret in deployed.of_type(_SECRET)}
    return {
        name: source.secret_name
        for name, source in fleet.sources.items()
        if source.secret_name in made
    }


def _await_keeper(home: Home, held: Keeper) -> dict[str, Any]:
    deadline = time.monotonic() + _KEEPER_SECONDS
    while time.monotonic() < deadline and held.poll() is None:
        found = read_json(home.keeper_file)
        if found is not None:
            return dict(found)
        time.sleep(0.02)
    words = home.keeper_log.read_text(encoding="utf-8").strip().splitlines()
    raise LocalError("the local stack did not start:\n" + "\n".join(words[-10:]))


def _set_secrets(
    client: Callable[[str], Any], ids: Iterable[str], fleet: fleets.Fleet
) -> None:
    """Give every source a made-up secret that fits each kind of sender; so the digest.

    The random value that the stack created refuses everything, as it should;
    ``whsec_`` and base64 is text to most senders and a key to Standard Webhooks.
    """
    for secret_id in sorted(set(ids)):
        value = base64.b64encode(secrets.token_bytes(32)).decode()
        client("secretsmanager").put_secret_value(
            SecretId=secret_id, SecretString=f"whsec_{value}"
        )
    if fleet.digest is not None:
        client("secretsmanager").put_secret_value(
            SecretId=fleet.digest.secret_name, SecretString=_SLACK
        )


def _make_tokens(client: Callable[[str], Any], ids: set[str]) -> None:
    """Make the agents' own secrets, as their owner would; the world takes any token."""
    manager = client("secretsmanager")
    for secret_id in sorted(ids):
        made_up = f"made-up-{secrets.token_hex(16)}"
        with contextlib.suppress(manager.exceptions.ResourceExistsException):
            manager.create_secret(
                Name=secret_id,
                SecretString=_CONSENT if secret_id == _GOOGLE else made_up,
            )


def _told(
    home: Home,
    kept: Mapping[str, Any],
    deployed: deploy.Deployed,
    fleet: fleets.Fleet,
    secret_ids: Mapping[str, str],
) -> dict[str, Any]:
    """Return what stack.json says; the form is fixed, other tools read it."""
    outputs = deployed.outputs
    return {
        "schema": 1,
        "pid": kept["pid"],
        "endpoint": kept["endpoint"],
        "region": engine.REGION,
        "access_key_id": engine.ACCESS_KEY_ID,
        "secret_access_key": engine.SECRET_ACCESS_KEY,
        "stack_name": deployed.name,
        "api_url": api_url(kept["endpoint"], deployed),
        "outputs": dict(outputs),
        "ledger_table": outputs["LedgerTable"],
        "bus": outputs["BusName"],
        "payload_bucket": outputs["PayloadBucket"],
        "queues": {agent: asdict(_queue(outputs, agent)) for agent in fleet.agents},
        "other_dlqs": {
            name: outputs[key]
            for name, key in (
                ("rules", "RuleDeadLetters"),
                ("schedules", "ScheduleDeadLetters"),
                ("relay", "RelayParked"),
                ("async", "AsyncFailures"),
            )
            if key in outputs
        },
        "functions": _functions(deployed),
        "secrets": dict(secret_ids),
        "world_url": kept["world_url"],
        "clock_file": str(home.clock.resolve()),
        "log_dir": str(home.logs.resolve()),
    }


def _functions(deployed: deploy.Deployed) -> dict[str, str]:
    """Return the engine's names by ours: ``receiver``, ``worker:issue-triage``."""
    functions = {}
    for logical, properties in deployed.of_type("AWS::Lambda::Function"):
        name = properties["Handler"].split(".")[1]
        variables = properties.get("Environment", {}).get("Variables", {})
        agent = variables.get("AGENT_NAME")
        functions[f"{name}:{agent}" if agent else name] = deployed.ids[logical]
    return functions


def api_url(endpoint: str, deployed: deploy.Deployed) -> str:
    """Return the address of the HTTP API in the form that the engine serves."""
    (logical, _), *_ = deployed.of_type("AWS::ApiGatewayV2::Api")
    return f"{endpoint}/_aws/execute-api/{deployed.ids[logical]}/$default"


def _queue(outputs: Mapping[str, str], agent: str) -> QueueOf:
    name = fleets.logical_name(agent)
    url, dead = outputs[f"Queue{name}"], outputs[f"DeadLetters{name}"]
    return QueueOf(url=url, arn=_arn(url), dlq_url=dead, dlq_arn=_arn(dead))


def _arn(queue_url: str) -> str:
    account, name = queue_url.rsplit("/", 2)[-2:]
    return f"arn:aws:sqs:{engine.REGION}:{account}:{name}"
