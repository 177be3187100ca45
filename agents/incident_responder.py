"""Reads what AWS reports, judges how soon somebody must look, and tells Slack."""

from __future__ import annotations

import html
import os
from typing import Any

from agents import Event, GiveUp, Run
from agents.effects import slack
from agents.models import Prompt, model
from agents.untrusted import one_of

# detail-type -> where its detail names the thing, and where it says what happened.
_TOLD = {
    "CloudWatch Alarm State Change": ("alarmName", "state.reason"),
    "CodePipeline Pipeline Execution State Change": ("pipeline", "state"),
    "Object Created": ("object.key", "reason"),
    "ECS Task State Change": ("group", "stoppedReason"),
    "GuardDuty Finding": ("type", "title"),
    "AWS Health Event": ("eventTypeCode", "eventDescription.0.latestDescription"),
}
_URGENCIES = ("urgent", "soon")
_INSTRUCTION = (
    "An operations team is told of the event below. Must they look at once?"
    " Answer with one word: urgent or soon."
)
# A finding's text may be pages long; the console has the rest.
_LONGEST_TEXT = 500


def run(event: Event, run: Run) -> None:
    """Judge the incident (paid for once) and post it (done once)."""
    incident = describe(event.kind, event.payload)
    urgency = run.step("judge", judge, incident)
    # Text from outside must mention nobody: "<!channel>" is an order to Slack.
    text = html.escape(f"[{urgency}] {incident}", quote=False)
    run.effect("post", slack.post, os.environ["INCIDENT_CHANNEL"], text)
    run.log.info("incident told", urgency=urgency)


def describe(kind: str, envelope: dict[str, Any]) -> str:
    """Return one line about an AWS event; one without detail is told by its kind."""
    found = [_at(envelope.get("detail"), path) for path in _TOLD.get(kind, ())]
    words = [f"{text:.{_LONGEST_TEXT}}" for text in found if isinstance(text, str)]
    place = f"{envelope.get('account')}, {envelope.get('region')}"
    return ": ".join([kind, *words]) + f" ({place})"


def judge(incident: str) -> str:
    """Ask the model; an answer that is no urgency is not passed on to anybody."""
    prompt = Prompt(instruction=_INSTRUCTION, untrusted=incident)
    urgency = one_of(model().answer(prompt), _URGENCIES)
    if urgency is None:
        raise GiveUp("the model answered with no urgency", downstream="model")
    return urgency


def _at(value: Any, path: str) -> Any:
    for step in path.split("."):
        if isinstance(value, list):
            value = value[int(step)] if int(step) < len(value) else None
        else:
            value = value.get(step) if isinstance(value, dict) else None
    return value
