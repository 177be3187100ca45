"""Sorts a new GitHub issue and says so under it."""

from __future__ import annotations

from agents import Event, GiveUp, Run
from agents.effects import github
from agents.models import Prompt, model
from agents.untrusted import one_of

_LABELS = ("bug", "feature", "question")
_INSTRUCTION = (
    "Classify the issue below. Answer with one word: bug, feature or question."
)


def run(event: Event, run: Run) -> None:
    """Classify the issue (paid for once) and comment on it (done once)."""
    issue = event.payload["issue"]
    verdict = run.step("classify", classify, issue["title"], issue["body"] or "")
    run.effect("comment", github.comment, issue["comments_url"], verdict["text"])
    run.log.info("issue triaged", label=verdict["label"])


def classify(title: str, body: str) -> dict[str, str]:
    """Ask the model; an answer that is no label is not passed on to anybody."""
    prompt = Prompt(instruction=_INSTRUCTION, untrusted=f"{title}\n\n{body}")
    label = one_of(model().answer(prompt), _LABELS)
    if label is None:
        raise GiveUp("the model answered with no label", downstream="model")
    return {"label": label, "text": f"Thank you! This looks like a {label}."}
