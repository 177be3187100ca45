"""A model that needs no network: the words of a text decide the answer."""

from __future__ import annotations

import re

from agents.models import Prompt

# The first line whose words occur decides; the last one always does.
_SCRIPT = (
    (r"crash|error|fail|broken|exception|traceback|bug|regression", "bug"),
    (r"feature|would be nice|please add|support for|request|proposal", "feature"),
    (r"", "question"),
)


class ScriptedModel:
    """Tells bugs, features and questions apart, always the same way."""

    def answer(self, prompt: Prompt) -> str:
        """Return the label of the first line that matches."""
        text = prompt.untrusted
        return next(a for words, a in _SCRIPT if re.search(words, text, re.IGNORECASE))
