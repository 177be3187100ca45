"""Rings up orders as a sender does: signed, and again until somebody answers."""

from __future__ import annotations

import json
import os
import time
import uuid
from dataclasses import dataclass

from cli.output import OutOfReachError
from cli.signers import Draft, Signer
from cli.wire import Wire
from lambdas.shared import clock
from local.stack import LocalStack

_PATIENCE_SECONDS = 90


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """An order, under the id that its event will have; ``do`` is for the actor."""

    kind: str
    id: str
    do: tuple[str, ...] = ()

    @classmethod
    def new(cls, kind: str, *do: str) -> Order:
        return cls(kind=kind, id=f"order_{uuid.uuid4().hex}", do=do)

    @property
    def event_id(self) -> str:
        return f"till:{self.id}"


class Till:
    """A sender with its secret; from any thread."""

    def __init__(self, stack: LocalStack) -> None:
        self._secret = stack.secret("till")
        self._wire = Wire(stack.webhook_url("till"))
        # Hardly shrinks, so that the body goes to S3.
        self._noise = os.urandom(40_000).hex()

    def ring(self, order: Order) -> int:
        """Send the order until it is taken; returns how often it was sent."""
        more = {"do": order.do} if order.do else {"noise": self._noise}
        data = {"order": order.id, **more}
        body = json.dumps({"type": order.kind, "data": data}).encode()
        deadline = time.monotonic() + _PATIENCE_SECONDS
        sent = 0
        while time.monotonic() < deadline:
            at = clock.now()
            draft = Draft(
                event=order.kind, body=body, secret=self._secret, at=at, id=order.id
            )
            sent += 1
            try:
                if self._wire.post(Signer("standard-webhooks").sign(draft)).is_success:
                    return sent
            except OutOfReachError:
                pass
            time.sleep(0.3)
        raise AssertionError(f"{order.event_id} was not taken in {sent} tries")
