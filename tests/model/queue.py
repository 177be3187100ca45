"""A queue with its dead letters, as SQS keeps them: nothing moves by itself.

Standard queues, AWS's words: a message is hidden for the visibility timeout
after each receive, may be delivered again all the same, and is moved to the
dead letters by the receive after its last. Only the newest receipt works: of an
older one AWS promises nothing, and a rule must not rest on it.
"""

from __future__ import annotations

import itertools
import json
from dataclasses import dataclass
from enum import StrEnum

from tests.fakes.clock import FakeClock


class Place(StrEnum):
    """Where a message is."""

    QUEUE = "queue"
    DEAD_LETTERS = "dead letters"
    GONE = "gone"


@dataclass(kw_only=True)
class Letter:
    """One message, wherever it is now."""

    id: str
    event_id: str
    generation: int
    effects_generation: int
    #: The id of the publication that it carries.
    envelope_id: str
    sent_ms: int
    visible_ms: int
    place: Place = Place.QUEUE
    receives: int = 0
    first_received_ms: int = 0
    receipt: str = ""
    #: Sent to run again; what the relay sends is not, however often it does.
    is_asked_for: bool = True
    #: Of a message that carries a run on; one of the relay's is made when it is read.
    body: str = ""


class ModelQueue:
    """A :class:`lambdas.worker.delivery.Visibility` and the other side of it."""

    def __init__(self, clock: FakeClock, *, visibility_ms: int, receives: int) -> None:
        self.letters: dict[str, Letter] = {}
        self._clock = clock
        self._visibility_ms = visibility_ms
        self._receives = receives
        self._receipts = itertools.count(1)
        self._envelopes = itertools.count(1)

    def carry_on(self, body: str) -> None:
        """Take the message that a worker sends so that its run goes on."""
        envelope = json.loads(body)
        detail = envelope["detail"]
        generation = detail["generation"]
        effects = detail.get("effects_generation", generation)
        event_id, envelope_id = detail["event_id"], envelope.get("id", "")
        letter = self.send(event_id, generation, effects, envelope_id)
        letter.body, letter.is_asked_for = body, False

    def send(
        self, event_id: str, generation: int, effects: int, envelope_id: str = ""
    ) -> Letter:
        """Send a message in a new envelope, or in one that was sent before."""
        letter = Letter(
            id=f"m{len(self.letters) + 1}",
            event_id=event_id,
            generation=generation,
            effects_generation=effects,
            envelope_id=envelope_id or f"envelope-{next(self._envelopes)}",
            sent_ms=self._clock.ms,
            visible_ms=self._clock.ms,
        )
        self.letters[letter.id] = letter
        return letter

    def receive(self, letter: Letter) -> bool:
        """Hand the message out; ``False`` if that moved it to the dead letters."""
        if letter.receives >= self._receives:
            letter.place = Place.DEAD_LETTERS
            return False
        letter.receives += 1
        letter.first_received_ms = letter.first_received_ms or self._clock.ms
        letter.visible_ms = self._clock.ms + self._visibility_ms
        letter.receipt = f"{letter.id}/{next(self._receipts)}"
        return True

    def hide(self, receipt: str, seconds: int) -> None:
        """See the port."""
        letter = self._held(receipt)
        if letter is not None:
            letter.visible_ms = self._clock.ms + seconds * 1000

    def delete(self, receipt: str) -> bool:
        """Delete the message that ``receipt`` is the newest of."""
        letter = self._held(receipt)
        if letter is None:
            return False
        letter.place = Place.GONE
        return True

    def redrive(self, letter: Letter) -> Letter:
        """Move a dead letter back as the console does: as a new message."""
        letter.place = Place.GONE
        return self.double(letter)

    def double(self, letter: Letter) -> Letter:
        """Send the same body as another message; the bus, too, may do so."""
        sent = self.send(
            letter.event_id,
            letter.generation,
            letter.effects_generation,
            letter.envelope_id,
        )
        sent.body = letter.body
        return sent

    def at(self, place: Place, event_id: str = "") -> list[Letter]:
        return [
            letter
            for letter in self.letters.values()
            if letter.place is place and letter.event_id.startswith(event_id)
        ]

    def visible(self) -> list[Letter]:
        now_ms = self._clock.ms
        return [m for m in self.at(Place.QUEUE) if m.visible_ms <= now_ms]

    def repeatable(self) -> list[Letter]:
        """Messages that were received and may be delivered again while hidden."""
        most = self._receives
        return [m for m in self.at(Place.QUEUE) if 0 < m.receives < most]

    def _held(self, receipt: str) -> Letter | None:
        letter = self.letters[receipt.partition("/")[0]]
        is_held = letter.place is Place.QUEUE and letter.receipt == receipt
        return letter if is_held else None
