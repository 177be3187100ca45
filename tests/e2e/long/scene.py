"""Scenes: each has an agent and workers of its own, so all are played at once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

from local.home import Home
from local.stack import LocalStack
from tests.e2e.crash.till import Order, Till
from tests.e2e.long.crew import Crew, Digging, Worker

# They mostly wait; but each starts processes, and two cores can be had for that.
_AT_ONCE = 7


@dataclass(frozen=True, kw_only=True)
class Play:
    """What a scene is played with."""

    home: Home
    stack: LocalStack
    till: Till
    crew: Crew
    agent: str

    def starts(self, **environment: str) -> Worker:
        """Start a worker of this scene's agent; it is ready a moment later."""
        return self.crew.start(self.agent, **environment)

    def rings(self, *do: str) -> Digging:
        """Ring up an order for this scene's agent."""
        order = Order.new(f"order.{self.agent}", *do)
        self.till.ring(order)
        return Digging(stack=self.stack, order=order, agent=self.agent)

    @property
    def queue_url(self) -> str:
        return self.stack.queues[self.agent].url


Scene = Callable[[Play], None]


@dataclass(frozen=True)
class Cast:
    """A scene, and the agent that it is about."""

    scene: Scene
    agent: str
    does: str

    @property
    def sentence(self) -> str:
        return self.scene.__name__.replace("_", " ")


# Every scene that was read, in the order in which they are written.
_SCENES: list[Cast] = []


def scene(does: str) -> Callable[[Scene], Scene]:
    """Make a function a scene about an agent that digs, delves or mines."""

    def add(function: Scene) -> Scene:
        agent = f"{does}-{sum(each.does == does for each in _SCENES)}"
        _SCENES.append(Cast(function, agent, does))
        return function

    return add


def scenes_of(module: ModuleType) -> list[Cast]:
    """Return the scenes that a module has written."""
    name = module.__name__
    return [cast for cast in _SCENES if cast.scene.__module__ == name]


def play_all(
    casts: Sequence[Cast], home: Home, stack: LocalStack, till: Till, folder: Path
) -> dict[str, Future[None]]:
    """Play the scenes at once; returns what became of each, by its sentence."""

    def play(cast: Cast) -> None:
        place = folder / cast.agent
        place.mkdir()
        with Crew(home, stack, place) as crew:
            cast.scene(
                Play(home=home, stack=stack, till=till, crew=crew, agent=cast.agent)
            )

    # The receiver has started before workers take every core for their own start.
    till.ring(Order.new("order.of-nobody"))
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        return {cast.sentence: pool.submit(play, cast) for cast in casts}
