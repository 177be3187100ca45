"""Steps and effects: what makes a second attempt harmless.

A step is written once, when it is done. An effect is written twice: marked
before it is sent, so that a crash while it is sent leaves a mark, and settled
after. A mark that a later attempt finds is an effect *in doubt*.
"""

from __future__ import annotations

import hashlib
import inspect
import json
import shlex
import zlib
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from lambdas.shared.clock import Clock, milliseconds
from lambdas.shared.effects import Repeat
from lambdas.shared.errors import (
    GiveUp,
    InDoubt,
    Misconfigured,
    OutcomeUnknown,
    RetryLater,
)
from lambdas.shared.ledger import Bodies
from lambdas.shared.story import EFFECT, STEP, Status, operation_id
from lambdas.shared.table import (
    NEW,
    Below,
    Change,
    Condition,
    Is,
    OneOf,
    Outcome,
    Row,
    Table,
)
from lambdas.worker.claim import Claim, StaleClaim
from lambdas.worker.kept import folder_of, json_text

# A row holds 400 KB (DynamoDB); what is larger is kept beside the large bodies.
INLINE_RESULT_BYTES = 300_000

# What says that an effect surely did not happen. Misconfigured: a secret or a grant
# of ours is wrong, so that nothing was sent or all of it was refused.
_NOT_HAPPENED = (RetryLater, GiveUp, Misconfigured)

# A settled effect that may be started afresh.
_FREE = (Status.RELEASED, Status.NOT_HAPPENED)


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """An effect as the agent asked for it."""

    name: str
    fn: Callable[..., Any]
    args: tuple[Any, ...]
    kwargs: Mapping[str, Any]
    repeat: Repeat | None

    def send(self, operation: str) -> Any:
        """Touch the outside world."""
        return self.fn(*self.args, operation_id=operation, **self.kwargs)

    def check(self) -> None:
        """Refuse a call that could never be made, before it is marked.

        Raises:
            GiveUp: the function does not take these arguments.
        """
        try:
            signature = inspect.signature(self.fn)
        except (TypeError, ValueError):
            return  # a built-in that does not tell its signature
        try:
            signature.bind(*self.args, operation_id="", **self.kwargs)
        except TypeError as error:
            raise GiveUp(f"effect {self.name!r} cannot be called: {error}") from error


class Steps:
    """The steps and effects of one attempt, under its claim.

    Each may be called from a thread of its own. Raises StaleClaim once the
    lease is over, or somebody else's mark shows that it was taken over.
    """

    def __init__(
        self,
        table: Table,
        results: Bodies,
        claim: Claim,
        clock: Clock,
        sending: Callable[[], AbstractContextManager[None]],
    ) -> None:
        """``sending`` is entered around each single call of an effect."""
        self._table = table
        self._results = results
        self._claim = claim
        self._clock = clock
        self._sending = sending

    def step(self, name: str, call: Callable[[], Any]) -> Any:
        """Return what ``call`` returns, now or in an earlier attempt."""
        now_ms = self._alive()
        sk = f"{STEP}{self._claim.agent}#{name}"
        # A first attempt can have no earlier one: it pays for one write, no read.
        if self._claim.attempt > 1:
            row = self._table.get(self._claim.event_id, sk)
            if row is not None:
                self._not_overtaken(row, self._claim.generation)
                if row["generation"] == self._claim.generation:
                    return self._stored(name, row)
        attributes, value = self._kept(f"step {name!r}", call())
        finished_ms = self._alive()
        generation = self._claim.generation
        change = self._change(
            Status.DONE,
            generation,
            started_at=now_ms,
            finished_at=finished_ms,
            **attributes,
        )
        outcome = self._update(sk, change, NEW | Below("generation", generation))
        if outcome.done:
            return value
        self._not_overtaken(outcome.row, generation)
        return self._stored(name, outcome.row)

    def effect(self, call: Call) -> Any:
        """Send ``call`` unless it happened; see the contract."""
        self._alive()
        call.check()
        sk = f"{EFFECT}{self._claim.agent}#{call.name}"
        operation = self._operation(call.name)
        outcome = self._mark(sk, operation)
        if outcome.done or self._is_ours(outcome.row):
            try:
                # The mark may have taken its time: whoever took over has not seen it.
                self._alive()
            except StaleClaim:
                self._release(sk)
                raise
            return self._send(sk, call, operation, is_fresh=True)
        self._not_overtaken(outcome.row, self._claim.effects)
        match outcome.row["status"]:
            case Status.DONE:
                return self._stored(call.name, outcome.row)
            case Status.HAPPENED:
                return None
            case _:
                return self._settle(sk, call, operation, outcome.row)

    def _mark(self, sk: str, operation: str) -> Outcome:
        change = self._change(
            Status.STARTED,
            self._claim.effects,
            operation_id=operation,
            claim_token=self._claim.token,
            started_at=milliseconds(self._clock()),
        )
        free = Is("generation", self._claim.effects) & OneOf("status", _FREE)
        earlier = Below("generation", self._claim.effects)
        return self._update(sk, change, NEW | earlier | free)

    def _settle(self, sk: str, call: Call, operation: str, row: Row) -> Any:
        """Decide about an effect that an earlier attempt left in doubt."""
        since = datetime.fromtimestamp(row["started_at"] / 1000, UTC)
        repeat = call.repeat
        if repeat is None:
            raise self._in_doubt(call.name, f"it was started at {since:%FT%TZ}")
        is_forgotten = (
            repeat.within is not None and self._clock() - since > repeat.within
        )
        if repeat.look is None and is_forgotten:
            raise self._in_doubt(
                call.name,
                f"it was started at {since:%FT%TZ}, longer ago than the other side"
                f" remembers an operation id ({repeat.within})",
            )
        # Only one worker may go on with it: whose lease lasts.
        self._alive()
        mine = Change(set={"claim_token": self._claim.token})
        left = Is("status", Status.STARTED) & Is("claim_token", row["claim_token"])
        if not self._update(sk, mine, left).done:
            raise StaleClaim(f"effect {call.name!r} was settled by somebody else")
        if repeat.look is not None:
            found = self._look(call, repeat.look, operation, since)
            if found is not None:
                return self._done(sk, call.name, found)
        # Stale by now, we leave the mark: it may be that of the worker who took over
        # from us, and who is sending.
        self._alive()
        return self._send(sk, call, operation, is_fresh=repeat.look is not None)

    def _look(
        self, call: Call, look: Callable[..., Any], operation: str, since: datetime
    ) -> Any:
        try:
            with self._sending():
                return look(
                    *call.args, operation_id=operation, since=since, **call.kwargs
                )
        except OutcomeUnknown as error:
            raise self._in_doubt(call.name, f"looking told nothing: {error}") from error

    def _send(self, sk: str, call: Call, operation: str, *, is_fresh: bool) -> Any:
        """Send the marked effect; ``is_fresh``: it surely was not sent before."""
        try:
            with self._sending():
                result = call.send(operation)
        except _NOT_HAPPENED:
            if is_fresh:
                self._release(sk)
            raise
        except Exception as error:
            if call.repeat is not None:
                raise
            why = f"it failed half-way ({type(error).__name__}: {error})"
            raise self._in_doubt(call.name, why) from error
        return self._done(sk, call.name, result)

    def _done(self, sk: str, name: str, result: Any) -> Any:
        try:
            attributes, value = self._kept(f"effect {name!r}", result)
        except GiveUp as error:
            # It happened and must not be sent again, whatever it returned.
            self._close(sk, result="null", result_lost=str(error)[:500])
            raise
        self._close(sk, **attributes)
        return value

    def _close(self, sk: str, **attributes: Any) -> None:
        finished_ms = milliseconds(self._clock())
        change = Change(
            set={"status": Status.DONE, "finished_at": finished_ms, **attributes}
        )
        if not self._update(sk, change, Is("claim_token", self._claim.token)).done:
            raise StaleClaim("an effect was settled by somebody else")

    def _release(self, sk: str) -> None:
        mine = Is("status", Status.STARTED) & Is("claim_token", self._claim.token)
        self._update(sk, Change(set={"status": Status.RELEASED}), mine)

    def _alive(self) -> int:
        return self._claim.alive(self._clock)

    def _not_overtaken(self, row: Row, generation: int) -> None:
        if row["generation"] > generation:
            raise StaleClaim("a replay has begun this run afresh")

    def _is_ours(self, row: Row) -> bool:
        # The answer to a mark may be lost and the call repeated below us. Names are
        # used once per attempt, so our token can stand on our own mark only.
        is_mark = row.get("status") == Status.STARTED
        return is_mark and row.get("claim_token") == self._claim.token

    def _operation(self, name: str) -> str:
        claim = self._claim
        return operation_id(claim.event_id, claim.agent, name, claim.effects)

    def _in_doubt(self, name: str, why: str) -> InDoubt:
        event, effect = shlex.quote(self._claim.event_id), shlex.quote(name)
        return InDoubt(
            f"effect {name!r} may have happened: {why}. Look at the other side, then:"
            f" bellhop resolve {event} {effect} --happened|--not-happened",
            effect=name,
        )

    def _change(self, status: Status, generation: int, **attributes: Any) -> Change:
        """Return the change to a whole row, nothing left of an earlier generation."""
        fresh = {
            "status": status,
            "generation": generation,
            "expires_at": self._claim.expires_at,
            **attributes,
        }
        all_ = ("result", "result_ref", "result_lost", "finished_at")
        return Change(set=fresh, remove=[name for name in all_ if name not in fresh])

    def _update(self, sk: str, change: Change, when: Condition) -> Outcome:
        return self._table.update(self._claim.event_id, sk, change, when=when)

    def _kept(self, what: str, value: Any) -> tuple[dict[str, Any], Any]:
        """Return the attributes that keep ``value``, and it as JSON gives it back."""
        text = json_text(f"{what} returned", value)
        if len(text) <= INLINE_RESULT_BYTES:
            return {"result": text}, json.loads(text)
        data = text.encode()
        folder = folder_of(self._claim.event_id)
        key = f"{folder}/{hashlib.sha256(data).hexdigest()}"
        self._results.put(key, zlib.compress(data))
        return {"result_ref": key}, json.loads(text)

    def _stored(self, name: str, row: Row) -> Any:
        if "result_ref" not in row:
            return json.loads(row["result"])
        packed = self._results.get(row["result_ref"])
        if packed is None:
            raise GiveUp(f"the result of {name!r} is gone", downstream="ledger")
        return json.loads(zlib.decompress(packed))
