"""What an agent saves of its work, so that a later attempt goes on from there.

One row per run, written over by each checkpoint. Whoever goes on from it makes it
its own first: an earlier attempt that wakes up can then write it no more.
"""

from __future__ import annotations

import json
import threading
import zlib
from typing import Any

from lambdas.shared.clock import Clock
from lambdas.shared.errors import GiveUp
from lambdas.shared.ledger import INLINE_BODY_BYTES, Bodies
from lambdas.shared.story import CHECKPOINT
from lambdas.shared.table import NEW, Below, Change, Condition, Outcome, Table
from lambdas.worker.claim import Claim, StaleClaim
from lambdas.worker.kept import folder_of, json_text

# It is written again and again, and a row is paid for by its size: see the bodies.
INLINE_STATE_BYTES = INLINE_BODY_BYTES
# Of the JSON text. What is larger belongs into a store of the agent's own, and where
# it lies there into the checkpoint.
LARGEST_STATE_BYTES = 5 * 1024 * 1024


class Checkpoints:
    """The checkpoint of one run, under the claim of one attempt; from any thread.

    Large states go to two objects in turns, so that a run that saves every second
    keeps two of them and not thousands. The one that the row names is never the one
    that is written.
    """

    def __init__(
        self, table: Table, bodies: Bodies, claim: Claim, clock: Clock
    ) -> None:
        """Nothing is read or written yet."""
        self._table = table
        self._bodies = bodies
        self._claim = claim
        self._clock = clock
        self._sk = f"{CHECKPOINT}{claim.agent}"
        self._lock = threading.Lock()
        self._resumed: str | None = None
        self._has_looked = claim.attempt == 1
        self._failures = 0
        #: How many this attempt has made.
        self.made = 0

    def save(self, state: Any) -> None:
        """Keep ``state`` in place of the one before it.

        Raises:
            GiveUp: it is not JSON, or larger than 5 MiB.
            StaleClaim: the lease is over, or a later attempt has gone on.
            Unavailable, Misconfigured: it is not kept; the one before it may be.
        """
        text = json_text("the state of a checkpoint is", state)
        if len(text) > LARGEST_STATE_BYTES:
            raise GiveUp(
                f"the state of a checkpoint has {len(text):,} bytes as JSON, of at most"
                f" {LARGEST_STATE_BYTES:,}: keep what is large elsewhere, and here its"
                " place"
            )
        with self._lock:
            try:
                self._write(text)
            except Exception:
                # It may have been written: then the row names this object by now.
                self._failures += 1
                raise
            self.made += 1

    def resumed(self) -> Any | None:
        """Return a copy of the state that this attempt began with; None if none.

        Raises:
            GiveUp: its object is gone.
            StaleClaim: a later attempt has gone on.
            Unavailable, Misconfigured: it could not be read.
        """
        with self._lock:
            if not self._has_looked:
                self._resumed = self._take_over()
                self._has_looked = True
            return None if self._resumed is None else json.loads(self._resumed)

    def _write(self, text: str) -> None:
        claim = self._claim
        claim.alive(self._clock)
        fresh: dict[str, Any] = {
            "generation": claim.generation,
            "attempt": claim.attempt,
            "held_by": claim.attempt,
            "bytes": len(text),
            "expires_at": claim.expires_at,
        }
        if len(text) <= INLINE_STATE_BYTES:
            fresh["state"] = text
        else:
            fresh["state_ref"] = self._object()
            self._bodies.put(fresh["state_ref"], zlib.compress(text.encode(), 1))
        fresh["written_at"] = claim.alive(self._clock)
        gone = [name for name in ("state", "state_ref") if name not in fresh]
        change = Change(set=fresh, add={"version": 1}, remove=gone)
        self._write_row(change)

    def _object(self) -> str:
        claim = self._claim
        turn = f"{claim.attempt}-{self._failures}-{self.made % 2}"
        return f"{folder_of(claim.event_id)}/checkpoint-{claim.agent}-{turn}"

    def _take_over(self) -> str | None:
        claim = self._claim
        # Read by an update, which makes the row where there is none: from here on what
        # an earlier attempt writes is refused, its first checkpoint too.
        mine = {"held_by": claim.attempt, "expires_at": claim.expires_at}
        outcome = self._write_row(Change(set=mine))
        row = outcome.row
        if row.get("generation") != claim.generation:
            return None
        if "state_ref" not in row:
            return str(row["state"])
        packed = self._bodies.get(row["state_ref"])
        if packed is None:
            raise GiveUp("the state of the checkpoint is gone", downstream="ledger")
        return zlib.decompress(packed).decode()

    def _write_row(self, change: Change) -> Outcome:
        event_id, when = self._claim.event_id, self._not_overtaken
        outcome = self._table.update(event_id, self._sk, change, when=when)
        if not outcome.done:
            raise StaleClaim("a later attempt has gone on from its checkpoint")
        return outcome

    @property
    def _not_overtaken(self) -> Condition:
        return NEW | Below("held_by", self._claim.attempt + 1)
