"""What must hold, said a second time and from outside: of rows, letters and effects."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from lambdas.shared.story import State
from lambdas.shared.table import Row
from tests.model.queue import Letter, ModelQueue, Place

OVER = frozenset({State.SUCCEEDED, State.SKIPPED})


@dataclass(eq=False, kw_only=True)
class Work:
    """What one invocation did, as seen from outside."""

    name: str
    letter: Letter
    receipt: str
    #: Past it, its message would be visible before its lease could end.
    latest_start_ms: int
    #: Of its claim.
    token: str = ""
    generation: int = 0
    effects: int = 0
    leased_until_ms: int = 0
    #: Its agent was called.
    ran: bool = False
    #: It was this invocation that wrote how the run ended.
    ended: bool = False
    #: It has saved a checkpoint.
    saved: bool = False


@dataclass(kw_only=True)
class Watch:
    """Sees everything that happens; ``broken`` are the rules that did not hold."""

    queue: ModelQueue
    max_receives: int
    broken: list[str] = field(default_factory=list)
    #: Whose agents are at work.
    working: list[Work] = field(default_factory=list)
    attempts: Counter[str] = field(default_factory=Counter)
    #: Steps that are written down: (event, name, generation).
    stored: set[tuple[str, str, int]] = field(default_factory=set)
    #: The latest attempt of each run that has looked where to go on from.
    looked: Counter[str] = field(default_factory=Counter)

    def breaks(self, rule: str) -> None:
        self.broken.append(rule)

    def run_row(self, work: Work, old: Row, new: Row, now_ms: int) -> None:
        """A run row was written by ``work``."""
        if new["generation"] < old.get("generation", 0):
            self.breaks("a run went back to an earlier generation")
        if new["claim_token"] != old.get("claim_token"):
            work.token = new["claim_token"]
            work.generation = new["generation"]
            work.effects = new.get("effects_generation", work.generation)
            work.leased_until_ms = new["due_at"]
            if old and new["generation"] == old["generation"]:
                self._claimed(work, old, now_ms)
            return
        if old["claim_token"] != work.token:
            self.breaks(f"{work.name} changed a run that others had taken over")
        if new["state"] != State.PROCESSING:
            work.ended = True
        if new["state"] == State.SUSPENDED and not work.saved:
            self.breaks("a run was handed over that had saved nothing")

    def _claimed(self, work: Work, old: Row, now_ms: int) -> None:
        letter = work.letter
        if old["state"] in OVER:
            self.breaks("a run that was over began again")
        is_waiting = old["state"] == State.FAILED and old["due_at"] >= now_ms
        if is_waiting and letter.id != old["carrier"]:
            self.breaks("a duplicate did not wait for the time of the retry")
        if old["state"] == State.DEAD:
            died = self.queue.letters[old["carrier"]]
            is_later = letter.sent_ms > old["started_at"]
            is_its_letter = letter.envelope_id == died.envelope_id
            if letter is died or not (is_later and is_its_letter):
                self.breaks("a dead run began again without a redrive")

    def agent_began(self, work: Work, now_ms: int) -> None:
        """An agent is called."""
        for other in self.working:
            # A replay that asks for fresh effects takes over at once.
            same = (other.letter.event_id, other.generation) == (
                work.letter.event_id,
                work.generation,
            )
            if same and min(work.leased_until_ms, other.leased_until_ms) > now_ms:
                self.breaks(f"{work.name} runs beside {other.name}")
        work.ran = True
        self.working.append(work)
        self.attempts[work.letter.id] += 1
        if self.attempts[work.letter.id] > self.max_receives:
            self.breaks(f"{work.letter.id} ran more often than it may be received")

    def resumed(self, work: Work, attempt: int) -> None:
        """An agent was told from where it goes on, in this attempt of its run."""
        event_id = work.letter.event_id
        self.looked[event_id] = max(self.looked[event_id], attempt)

    def saved(self, work: Work, attempt: int) -> None:
        """A checkpoint was written in this attempt."""
        work.saved = True
        if attempt < self.looked[work.letter.event_id]:
            self.breaks("an attempt saved over the one that had gone on")

    def step_began(self, work: Work, name: str) -> None:
        """The function of a step is called."""
        if (work.letter.event_id, name, work.generation) in self.stored:
            self.breaks(f"step {name!r} was done and is done again")

    def agent_ended(self, work: Work) -> None:
        """An agent returned or raised, or its process is no more."""
        self.working.remove(work)

    def acknowledged(self, work: Work, row: Row) -> None:
        """The message of ``work`` was deleted."""
        if work.ran and not work.ended:
            self.breaks(f"{work.name} acknowledged a run that it did not end")
        if work.letter.generation > row.get("generation", 0):
            self.breaks("a replay that asks for fresh effects was acknowledged unheard")
        self.not_lost(work.letter.event_id, row)

    def not_lost(self, event_id: str, row: Row) -> None:
        """Some message must answer for a run that is not over."""
        places = (Place.QUEUE, Place.DEAD_LETTERS)
        left = [m for place in places for m in self.queue.at(place, event_id)]
        if row.get("state") not in OVER and not left:
            state = row.get("state", "without a run")
            self.breaks(f"{event_id} is {state} and no message is left: lost")
