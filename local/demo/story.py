"""Plays the story on a stack of its own and says whether everything held."""

from __future__ import annotations

import time
from pathlib import Path

from local import up
from local.demo import scenes
from local.demo.telling import Telling
from local.home import Home

FLEET = Path(__file__).parent / "fleet.toml"


def tell(home: Home) -> int:
    """Bring the demo's fleet up, play every scene, take it down.

    Returns 0 when every sentence held, else 1 with those that did not.
    """
    telling = Telling()
    began = time.monotonic()
    telling.say("A café takes the order first and cooks it after.")
    with up.running(home, fleet=FLEET, say=telling.say) as stack:
        telling.say(f"the stack is up: {stack.endpoint}")
        scenes.each_sender(stack, telling)
        scenes.five_copies(stack, telling)
        scenes.forgeries(stack, telling)
        scenes.killed_worker(stack, telling)
        poison_id = scenes.poison(stack, telling)
        scenes.redriven(stack, telling, poison_id)
        telling.title("The end. Everything is taken down.")
    telling.say(f"told in {time.monotonic() - began:.0f} s")
    for sentence in telling.failures:
        print(f"did not hold: {sentence}")
    if telling.failures:
        print(f"logs of the engine and of every function: {home.logs}")
    return 1 if telling.failures else 0
