"""Which headers of a valid request prove something: those that verifying looks at."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

from lambdas.receiver import senders
from lambdas.receiver.request import from_api_gateway
from lambdas.receiver.senders import Sender
from tests.unit.receiver import signed
from tests.unit.receiver.door import NOW


class Watched(dict[str, str]):
    """Headers that remember which of them were looked at."""

    def __init__(self, headers: Mapping[str, str]) -> None:
        super().__init__(headers)
        self.seen: set[str] = set()

    def get(self, name: str, default: Any = None) -> Any:
        self.seen.add(name)
        return super().get(name, default)


def record(name: str) -> Sender:
    """Return the record of a sender."""
    return senders.load(signed.door(name).source)


def headers(name: str) -> list[str]:
    """Return the headers of a valid request that its verification looks at."""
    door, call = signed.door(name), signed.call(name)
    request = from_api_gateway(
        call.to_api_gateway(name), door.source, NOW, door.intake.fetch
    )
    watched = Watched(request.headers)
    watched_request = dataclasses.replace(request, headers=watched)
    record(name).proof.verify(watched_request, [signed.stored(name)], NOW)
    return sorted((watched.seen & set(request.headers)) - {"content-type"})
