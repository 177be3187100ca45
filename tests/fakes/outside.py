"""What senders publish: certificates and keys, by their addresses."""

from __future__ import annotations

from dataclasses import dataclass, field

from lambdas.shared.errors import Unavailable
from lambdas.shared.fetch import Reply


@dataclass
class FakeHttps:
    """Serves ``pages``; a status in place of a page is answered, anything else 404.

    ``down`` answers nothing at all.
    """

    pages: dict[str, bytes | int] = field(default_factory=dict)
    called: list[str] = field(default_factory=list)
    down: bool = False

    def __call__(self, url: str, *, most_bytes: int, timeout_seconds: float) -> Reply:  # noqa: ARG002 - as the adapter is called
        self.called.append(url)
        if self.down:
            raise Unavailable(f"{url} did not answer")
        page = self.pages.get(url, 404)
        return Reply(page, b"") if isinstance(page, int) else Reply(200, page)
