"""The services that effects call, together, and a run that sends to them."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from lambdas.shared import clock
from lambdas.shared.effects import Repeat, repeat_of, sending
from lambdas.shared.story import EFFECT, Status, operation_id
from lambdas.worker.claim import Claim
from lambdas.worker.lease import Lease
from lambdas.worker.steps import Call, Steps
from tests.fakes.github import FakeGitHub
from tests.fakes.google import API, TOKENS, FakeGoogle
from tests.fakes.ledger import FakeBodies, FakeTable
from tests.fakes.linear import FakeLinear
from tests.fakes.services import Fault, Reply, Request, Services
from tests.fakes.slack import FakeSlack
from tests.fakes.stripe import FakeStripe

TOKEN = "lin_api_s3cr3t-t0k3n"
EVENT, AGENT, NAME = "shop:1", "clerk", "tell"
OPERATION = operation_id(EVENT, AGENT, NAME, 0)


class Shop:
    """A service that honours ``Idempotency-Key``, or does not."""

    def __init__(self) -> None:
        self.orders: list[Any] = []
        self.honours_keys = True
        self._answers: dict[str, Reply] = {}

    def __call__(self, request: Request) -> Reply:
        key = request.headers["idempotency-key"]
        if self.honours_keys and key in self._answers:
            return self._answers[key]
        self.orders.append(request.document)
        self._answers[key] = Reply.of({"order": len(self.orders)}, 201)
        return self._answers[key]


@dataclass
class World(Services):
    """The services, each reachable by its real address."""

    github: FakeGitHub = field(default_factory=lambda: FakeGitHub(TOKEN))
    slack: FakeSlack = field(default_factory=lambda: FakeSlack(TOKEN))
    linear: FakeLinear = field(default_factory=lambda: FakeLinear(TOKEN))
    stripe: FakeStripe = field(default_factory=lambda: FakeStripe(TOKEN))
    google: FakeGoogle = field(default_factory=lambda: FakeGoogle(token=TOKEN))
    shop: Shop = field(default_factory=Shop)

    def __post_init__(self) -> None:
        super().__init__(
            {
                "api.github.com": self.github,
                "slack.com": self.slack,
                "api.linear.app": self.linear,
                "api.stripe.com": self.stripe,
                API: self.google,
                TOKENS: self.google,
                "shop.example": self.shop,
            }
        )
        day = {"date": "2026-12-01"}
        self.google.put({"id": "board", "summary": "Board", "start": day, "end": day})

    def answer(self, request: Request) -> tuple[Fault | None, Reply]:
        """As it is, but for tokens: had on the way to a request, they are none."""
        if request.host == TOKENS:
            return None, self.google(request)
        return super().answer(request)


class Attempt:
    """A run as effects see it. Its ledger and its in-doubt rule are the real ones."""

    def __init__(self, secrets: dict[str, str]) -> None:
        self.secrets = secrets
        self.seconds = 30.0
        self.table = FakeTable()
        self._attempts = itertools.count(1)

    @property
    def deadline(self) -> datetime:
        return clock.now() + timedelta(seconds=self.seconds)

    def secret(self, name: str) -> str:
        return self.secrets[name]

    def send(self, effect: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        """Call an effect once, with no ledger around it."""
        with sending(self):
            return effect(*args, operation_id=OPERATION, **kwargs)

    def effect(
        self,
        fn: Callable[..., Any],
        *args: Any,
        repeatable: bool = False,
        **kwargs: Any,
    ) -> Any:
        """Send an effect in the next attempt, unless it happened in an earlier one."""
        repeat = repeat_of(fn) or (Repeat() if repeatable else None)
        number = next(self._attempts)
        now_ms = clock.milliseconds(clock.now())
        claim = Claim(
            event_id=EVENT,
            agent=AGENT,
            expires_at=0,
            token=f"token-{number}",
            generation=0,
            attempt=number,
            lease=Lease(clock.milliseconds(self.deadline), now_ms),
            begun_ms=now_ms,
        )
        steps = Steps(self.table, FakeBodies(), claim, clock.now, lambda: sending(self))
        call = Call(name=NAME, fn=fn, args=args, kwargs=kwargs, repeat=repeat)
        return steps.effect(call)

    def send_again(self, fn: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        """Send an effect that a worker had begun when it died."""
        row = {
            "pk": EVENT,
            "sk": f"{EFFECT}{AGENT}#{NAME}",
            "status": Status.STARTED,
            "generation": 0,
            "claim_token": "of the dead",
            "operation_id": OPERATION,
            "started_at": clock.milliseconds(clock.now()) - 1000,
        }
        self.table.put(row)
        return self.effect(fn, *args, **kwargs)
