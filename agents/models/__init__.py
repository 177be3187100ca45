"""Models that agents ask; which one is the environment's choice, not the agent's.

``MODEL`` names a ``module:Class`` whose objects have ``answer``; set it in the
agent's ``environment`` in ``fleet.toml``. Without it answers are scripted, so
that examples and tests run offline and cost nothing.
"""

from __future__ import annotations

import functools
import importlib
import os
from dataclasses import dataclass
from typing import Protocol

from agents.untrusted import cleaned, fenced

_DEFAULT = "agents.models.scripted:ScriptedModel"


@dataclass(frozen=True, slots=True, kw_only=True)
class Prompt:
    """What is asked, and apart from it the text it is asked about.

    ``untrusted`` came from outside and may try to give orders: a model is to
    receive it as material, never as instruction. :meth:`parts` makes both ready.
    """

    instruction: str
    untrusted: str

    def parts(self) -> tuple[str, str]:
        """Return what goes to a model as system prompt and as message."""
        rule, material = fenced(cleaned(self.untrusted))
        return f"{self.instruction}\n\n{rule}", material


class Model(Protocol):
    """Answers prompts. Raises RetryLater or GiveUp."""

    def answer(self, prompt: Prompt) -> str:
        """Return the answer's text, which is to be checked before it is used."""
        ...


def model() -> Model:
    """Return the model that the environment names."""
    return _named(os.environ.get("MODEL") or _DEFAULT)


@functools.cache
def _named(name: str) -> Model:
    module, _, kind = name.partition(":")
    return getattr(importlib.import_module(module), kind)()  # type: ignore[no-any-return]
