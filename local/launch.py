"""Starts the engine, in the engine's own environment, with a record of its traffic.

Runs as a file, not as a module of this package: the engine's environment holds
neither our dependencies nor our folder (``python -P`` keeps that so). Added
from outside: calls that carry our hook's headers are noted with the status they
were answered with; what functions write is kept, and the exit codes of their
processes, which the engine throws away; AWS's own events can be played, which nobody
but AWS may put on a bus; and a dot in a name of an event is read as EventBridge
reads it (the fact ``repository.full_name``), which the engine does for patterns
alone. The engine's own scheduler is put to rest: see ``local/scheduler.py``;
no row is deleted for its age; a function's code is unpacked once; and queues stamp
messages by the clock file where it runs ahead.
"""

from __future__ import annotations

import ctypes
import importlib.util
import json
import os
import signal
import sys
import time
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Any

# Taken off again at once: the engine must not find our modules by their names.
sys.path.insert(0, str(Path(__file__).parent))
from stamps import stamp_by_the_clock  # type: ignore[import-not-found]
from trouble import troubled  # type: ignore[import-not-found]
from unpacked import unpack_once  # type: ignore[import-not-found]
from wire import (  # type: ignore[import-not-found]
    CALL_HEADER,
    CALLER_HEADER,
    PLAYED_BY_AWS,
    append,
)

sys.path.pop(0)

_PR_SET_PDEATHSIG = 1

Message = dict[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
Application = Callable[[Message, Receive, Send], Awaitable[None]]


def recorded(app: Application, wire: Path) -> Application:
    """Wrap the engine so that every call of a function is noted when answered."""

    async def noted(scope: Message, receive: Receive, send: Send) -> None:
        headers = dict(scope.get("headers") or ())
        call = headers.get(CALL_HEADER.encode())
        if call is None:
            return await app(scope, receive, send)
        arrived = time.time()
        function, _, pid = headers[CALLER_HEADER.encode()].decode().rpartition("/")

        async def answer(message: Message) -> None:
            if message["type"] == "http.response.start":
                append(
                    wire,
                    at=arrived,
                    call=call.decode(),
                    function=function,
                    pid=int(pid),
                    status=message["status"],
                    path=scope["path"],
                )
            await send(message)

        return await app(scope, receive, answer)

    return noted


def note_exits(lambda_runtime: Any, wire: Path) -> None:
    """Note how each function process ended (-9 where somebody killed it)."""
    collect = lambda_runtime._collect

    def collected(process: Any, deadline: float) -> None:
        collect(process, deadline)
        if process is not None:
            append(wire, at=time.time(), pid=process.pid, exit=process.returncode)

    lambda_runtime._collect = collected


def name_log_groups(lambda_runtime: Any) -> None:
    """Tell each function the log group it writes to; the engine tells a default."""
    credentials = lambda_runtime.execution_credentials

    def with_log_group(config: Message) -> Any:
        group = (config.get("LoggingConfig") or {}).get("LogGroup")
        named = {"AWS_LAMBDA_LOG_GROUP_NAME": group} if group else {}
        return {**credentials(config), **named}

    lambda_runtime.execution_credentials = with_log_group


def name_failed_calls(lambda_svc: Any) -> None:
    """Say in the log which call failed, as Lambda does; the engine says only how."""
    execute = lambda_svc._execute_function_warm

    def named(func: Message, event: Any, request_id: str) -> Any:
        result = execute(func, event, request_id)
        if isinstance(result, dict) and result.get("error"):
            why = result["body"].get("errorMessage", "")
            line = f"RequestId: {request_id} Error: {why}"
            result["log"] = "\n".join(filter(None, [result.get("log"), line]))
        return result

    lambda_svc._execute_function_warm = named


def keep_output(lambda_svc: Any, file: Path) -> None:
    """Keep what every function wrote; the engine tells its own log of some alone."""
    execute = lambda_svc._execute_function_warm

    def kept(func: Message, event: Any, request_id: str) -> Any:
        result = execute(func, event, request_id)
        if isinstance(result, dict) and result.get("log"):
            with file.open("a", encoding="utf-8") as log:
                log.write(result["log"].rstrip("\n") + "\n")
        return result

    lambda_svc._execute_function_warm = kept


def name_logs_in_full(iam_evaluator: Any) -> None:
    """Judge calls on a log group by its whole ARN, which ends in ``:*``."""
    evaluate = iam_evaluator._resource_matches

    def matches(arn: str, *named: Any) -> bool:
        if ":log-group:" in arn and not arn.endswith(":*"):
            return bool(evaluate(arn, *named) or evaluate(f"{arn}:*", *named))
        return bool(evaluate(arn, *named))

    iam_evaluator._resource_matches = matches


def keep_what_expired(dynamodb: Any) -> None:
    """Delete no row for its age, which the engine would judge by the real time.

    An event of a day on the clock file would be gone a minute after it came.
    AWS deletes days late, and nothing may rest on it.
    """
    judged = dynamodb._ttl_settings

    class Unjudged(type(judged)):  # type: ignore[misc]
        def all_items(self) -> tuple[Any, ...]:
            return ()

    kept = Unjudged()
    kept._data = judged._data
    dynamodb._ttl_settings = kept


def let_aws_be_played(eventbridge: Any) -> None:
    """Take an entry of a source ``aws.*`` if it is marked; else it stays refused."""
    put_events = eventbridge._put_events

    def put(data: Message, allow_aws_source: bool = False) -> Any:
        marks = {entry.get("TraceHeader") for entry in data.get("Entries", [])}
        return put_events(data, allow_aws_source or marks == {PLAYED_BY_AWS})

    eventbridge._put_events = put


class Split:
    """An event as a pattern sees it, its dotted names as paths."""

    def __init__(self, view: Any) -> None:
        """Look at the engine's own view; what is delivered stays as it was put."""
        self._view = view

    def envelope(self) -> Any:
        """Return the event without its detail."""
        return self._view.envelope()

    def event_with_detail(self) -> Any:
        """Return the whole event."""
        return split_names(self._view.event_with_detail())


def split_names(value: Any) -> Any:
    """Return JSON values with ``{"a.b": 1}`` as ``{"a": {"b": 1}}``."""
    if isinstance(value, list):
        return [split_names(each) for each in value]
    if not isinstance(value, dict):
        return value
    found: dict[str, Any] = {}
    for name, inner in value.items():
        *steps, last = name.split(".")
        place = found
        for step in steps:
            below = place.setdefault(step, {})
            if not isinstance(below, dict):
                break
            place = below
        else:
            place.setdefault(last, split_names(inner))
    return found


def split_dotted_names(eventbridge: Any) -> None:
    """Let every rule match on names with dots."""
    matches = eventbridge._matches_alternative
    eventbridge._matches_alternative = lambda view, way: matches(Split(view), way)


def functions_time() -> Callable[[], float]:
    """Return what tells the functions' time, in epoch seconds, by their own module."""
    file = Path(__file__).parents[1] / "lambdas/shared/clock.py"
    spec = importlib.util.spec_from_file_location("bellhop_clock", file)
    if spec is None or spec.loader is None:
        raise ImportError(str(file))
    clock = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(clock)

    def now() -> float:
        try:
            told: float = clock.now().timestamp()
        except clock.UnreadableClockError:
            return time.time()  # the functions say so, each at its first look
        return told

    return now


def name_schedule_groups(iam_actions: Any) -> None:
    """Let a schedule's ARN hold its group, as in AWS: the engine says ``default``."""
    arn_of = iam_actions.extract_resource_arn

    def arn(
        service: str,
        method: str,
        path: str,
        headers: Any,
        body: bytes,
        query: Mapping[str, Any],
        *rest: Any,
    ) -> str:
        found: str = arn_of(service, method, path, headers, body, query, *rest)
        if service != "scheduler":
            return found
        told = json.loads(body).get("GroupName") if body else query.get("groupName")
        group = told[0] if isinstance(told, list) else told
        return found.replace(":schedule/default/", f":schedule/{group or 'default'}/")

    iam_actions.extract_resource_arn = arn


def main() -> None:
    """Serve until the signal; die with the keeper, however that ends."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    import ministack.app  # type: ignore[import-not-found]
    from ministack.core import (  # type: ignore[import-not-found]
        iam_actions,
        iam_evaluator,
        lambda_runtime,
    )
    from ministack.services import (  # type: ignore[import-not-found]
        dynamodb,
        eventbridge,
        lambda_svc,
        scheduler,
        sqs,
    )

    wire = Path(os.environ["BELLHOP_WIRE_FILE"])
    trouble = Path(os.environ["BELLHOP_KILL_FILE"]).with_name("trouble")
    engine = troubled(ministack.app.app, trouble, CALL_HEADER)
    ministack.app.app = recorded(engine, wire)
    note_exits(lambda_runtime, wire)
    unpack_once(lambda_runtime)
    name_log_groups(lambda_runtime)
    name_failed_calls(lambda_svc)
    keep_output(lambda_svc, wire.with_name("functions.log"))
    name_logs_in_full(iam_evaluator)
    name_schedule_groups(iam_actions)
    keep_what_expired(dynamodb)
    stamp_by_the_clock(sqs, functions_time())
    let_aws_be_played(eventbridge)
    split_dotted_names(eventbridge)
    # Ours knows zones and the clock file, and puts planned times in.
    scheduler._tick_schedules = lambda: None
    ministack.app.main()


if __name__ == "__main__":
    main()
