"""A model that needs no network: the words of a text decide the answer."""

from __future__ import annotations

import re

from agents.models import Prompt

# Of the answers that the instruction asks for, the first whose words occur in the
# text is given; an empty pattern stands for "otherwise".
_SCRIPT = (
    (r"crash|error|fail|broken|exception|traceback|bug|regression", "bug"),
    (r"feature|would be nice|please add|support for|request|proposal", "feature"),
    (r"", "question"),
    (r"fail|critical|outofmemory|unauthori[sz]ed|trojan|threshold|outage", "urgent"),
    (r"", "soon"),
)


class ScriptedModel:
    """Sorts a text into one of the words that it is asked for, always the same way."""

    def answer(self, prompt: Prompt) -> str:
        """Return the answer of the first line that matches, or nothing."""
        _, text = prompt.parts()
        asked = set(re.findall(r"\w+", prompt.instruction.lower()))
        return next(
            (
                answer
                for words, answer in _SCRIPT
                if answer in asked and re.search(words, text, re.IGNORECASE)
            ),
            "",
        )
