"""Does what its order says, one act after another; most of them bad."""

import os
import threading
import time
from typing import Any

from agents import Event, GiveUp, RetryLater, Run
from agents.effects import http

OUTSIDE = "https://honours.example"


def run(event: Event, run: Run) -> None:
    """Do each act, under its number and name."""
    data = event.payload["data"]
    for number, act in enumerate(data["do"]):
        ACTS[act](run, f"{number}-{act.replace(' ', '-')}", data["order"])


def effect(run: Run, name: str, order: str) -> None:
    run.effect(name, http.post, f"{OUTSIDE}/{name}", {"order": order}, repeatable=True)


def fail_once(run: Run, *_: Any) -> None:
    if run.attempt == 1:
        raise RetryLater("not yet", after=2)


def give_up_once(run: Run, *_: Any) -> None:
    if run.attempt == 1:
        raise GiveUp("not this time")


class Unheard(BaseException):
    """What nobody expects."""


def unheard(*_: Any) -> None:
    raise Unheard("of")


def leave(*_: Any) -> None:
    raise SystemExit(3)


def recurse(*_: Any) -> None:
    recurse()


def vanish(*_: Any) -> None:
    os._exit(3)


def hang(*_: Any) -> None:
    time.sleep(3600)


def fork(run: Run, name: str, order: str) -> None:
    child = os.fork()
    if child:
        os.waitpid(child, 0)
    else:
        effect(run, name, order)


def no_json(run: Run, name: str, _: str) -> None:
    run.step(name, object)


def twice(run: Run, name: str, _: str) -> None:
    run.step(name, int)
    run.step(name, int)


def late(run: Run, name: str, order: str) -> None:
    def after_the_end() -> None:
        time.sleep(0.5)
        effect(run, name, order)

    threading.Thread(target=after_the_end, daemon=True).start()


ACTS: dict[str, Any] = {
    "effect": effect,
    "hold": effect,
    "fail once": fail_once,
    "give up once": give_up_once,
    "unheard": unheard,
    "leave": leave,
    "recurse": recurse,
    "vanish": vanish,
    "hang": hang,
    "fork": fork,
    "no json": no_json,
    "twice": twice,
    "late": late,
}
