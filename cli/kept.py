"""A source's secret as it is kept: one value, or two while it is being rotated."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from cli.output import CliError
from lambdas.shared.clock import rfc3339


@dataclass(frozen=True, slots=True, kw_only=True)
class Kept:
    """``previous`` is accepted beside ``current`` until ``previous_until``."""

    current: str
    previous: str | None = None
    previous_until: datetime | None = None

    @classmethod
    def from_text(cls, text: str) -> Kept:
        """Read a SecretString: the bare secret, or a JSON object.

        Raises:
            CliError: an object without ``current``, or with an unreadable time.
        """
        try:
            value = json.loads(text)
        except ValueError:
            return cls(current=text)
        if not isinstance(value, dict):
            return cls(current=text)
        try:
            until: Any = value.get("previous_until")
            return cls(
                current=value["current"],
                previous=value.get("previous"),
                previous_until=datetime.fromisoformat(until) if until else None,
            )
        except (KeyError, TypeError, ValueError) as error:
            raise CliError(
                "the stored secret has another form than"
                ' {"current", "previous", "previous_until"}; `bellhop secret set`'
                " writes it anew"
            ) from error

    def to_text(self) -> str:
        """Write the SecretString; a bare secret where there is only one."""
        if self.previous is None:
            return self.current
        value: dict[str, str | None] = {
            "current": self.current,
            "previous": self.previous,
        }
        if self.previous_until is not None:
            value["previous_until"] = rfc3339(self.previous_until)
        return json.dumps(value)

    def previous_is_live(self, now: datetime) -> bool:
        """Whether the previous secret is still accepted."""
        if self.previous is None:
            return False
        return self.previous_until is None or now < self.previous_until


def fingerprint(secret: str) -> str:
    """Return a few letters that tell two secrets apart and give neither away."""
    return hashlib.sha256(b"bellhop:" + secret.encode()).hexdigest()[:8]
