"""Scale-in protection of the ECS task that this process runs in."""

from __future__ import annotations

import json
import urllib.error
import urllib.request
from collections.abc import Mapping

from lambdas.shared.errors import Unavailable

# Put into every container of a task by ECS itself.
AGENT_VARIABLE = "ECS_AGENT_URI"

_PATH = "/task-protection/v1/state"
_PATIENCE_SECONDS = 5


class TaskProtection:
    """A :class:`lambdas.worker.polling.protection.Protection` by ECS's own agent."""

    def __init__(self, agent_uri: str) -> None:
        """Speak to the agent at ``agent_uri``, on this task's own link."""
        self._url = agent_uri + _PATH

    @classmethod
    def of(cls, environ: Mapping[str, str]) -> TaskProtection | None:
        """Return that of this task; None outside of ECS."""
        uri = environ.get(AGENT_VARIABLE)
        return cls(uri) if uri else None

    def set(self, minutes: int | None) -> None:
        """Let neither scale-in nor deployment end the task for so long, or let them.

        Raises:
            Unavailable: the agent did not answer, or ECS did not do it.
        """
        wish: dict[str, bool | int] = {"ProtectionEnabled": minutes is not None}
        if minutes is not None:
            wish["ExpiresInMinutes"] = minutes
        request = urllib.request.Request(  # noqa: S310 - ECS's agent, on this host
            self._url,
            data=json.dumps(wish).encode(),
            headers={"Content-Type": "application/json"},
            method="PUT",
        )
        try:
            with urllib.request.urlopen(  # noqa: S310 - as above
                request, timeout=_PATIENCE_SECONDS
            ) as answer:
                told = json.load(answer)
        except (OSError, ValueError) as error:
            raise Unavailable(f"task protection was not set: {error}") from error
        # It answers 200 also for what ECS refused, with the failure in it.
        if not isinstance(told, dict) or "protection" not in told:
            raise Unavailable(f"task protection was not set: {str(told)[:300]}")
