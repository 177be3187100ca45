"""Broken fleets, written shortly; and the problems found in them."""

from __future__ import annotations

from types import SimpleNamespace

from lambdas.shared.fleet import FleetError, parse

AGENT = 'run = "agents.hello:run"\non = [{ source = "github", kind = "a.b" }]\n'
GITHUB = "[sources.github]\n"
HELLO = f"{GITHUB}[agents.hello]\n{AGENT}"


def _traits(name: str) -> SimpleNamespace:
    usual = {
        "has_delivery_id": True,
        "needs_public_url": False,
        "gives_up_after_seconds": 10,
        "options": (),
        "required": {},
        "forms": {},
    }
    known: dict[str, dict[str, object]] = {
        "github": {},
        "datadog": {"has_delivery_id": False, "options": ("site",)},
        "twilio": {"needs_public_url": True, "gives_up_after_seconds": 15},
        "sentry": {"gives_up_after_seconds": 1},
        "aws-sns": {
            "gives_up_after_seconds": 15,
            "options": ("topics", "owner"),
            "required": {"topics": "texts", "owner": "text"},
        },
    }
    if name not in known:
        raise LookupError(f"no sender {name!r}")
    return SimpleNamespace(**usual | known[name])


def problems(text: str) -> list[str]:
    try:
        parse(text, find_traits=_traits)
    except FleetError as error:
        return error.problems
    return []


def of_source(keys: str) -> str:
    return f"[sources.door]\nsender = 'github'\n{keys}"


def of_generic(keys: str) -> str:
    own = "sender = 'generic'\nsignature_header = 'X-Sign'\nid_from = 'header:X-Id'\n"
    return f"[sources.door]\n{own}{keys}"


def of_agent(keys: str) -> str:
    return f"{HELLO}{keys}"


def of_on(entry: str, more: str = "") -> str:
    run = 'run = "agents.hello:run"'
    return f"{GITHUB}[agents.hello]\n{run}\non = [{entry}]\n{more}"


def of_schedule(keys: str) -> str:
    return f"{HELLO}[schedules.nightly]\n{keys}"
