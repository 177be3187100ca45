"""Items of a feed that are changed under their ids: told where that was chosen."""

from __future__ import annotations

import random

import pytest

from tests.fakes.feeds import Kiosk, item


def test_edited_item_is_an_event_only_where_that_was_chosen() -> None:
    kiosk = Kiosk('first_run = "all"')
    kiosk.publish(item("a"), item("b"))
    kiosk.poll()
    kiosk.publish(item("a", title="New"), item("b"))
    assert kiosk.poll()["accepted"] == 0
    # Chosen later, it is not told of what was edited before.
    kiosk.change('edits = "accept"')
    assert kiosk.poll()["accepted"] == 0

    kiosk.publish(item("a", title="Newer"), item("b"))
    assert kiosk.poll()["accepted"] == 1
    assert kiosk.poll()["accepted"] == 0

    (edited,) = [each for each in kiosk.accepted if "#" in each]
    event = kiosk.ledger.event(f"news:{edited}")
    assert event is not None
    assert (event.kind, event.payload["title"]) == ("item.edited", "Newer")


# Hardly shrinks, so that it lies apart from its row.
LONG = random.Random(1).randbytes(60_000).hex()  # noqa: S311


@pytest.mark.parametrize("text", ["short", LONG], ids=["inline", "apart"])
def test_edit_of_an_item_that_a_run_died_of_is_accepted(text: str) -> None:
    """The run accepted it and did not remember: it is new again, and edited."""
    kiosk = Kiosk('first_run = "all"\nedits = "accept"')
    kiosk.publish(item("a", title=text), item("b", title=text))
    kiosk.poll()
    # As if it had been stopped before it could remember.
    del kiosk.ledger.table.rows["cursor#news", "cursor"]
    kiosk.publish(item("a", title=f"{text} anew"), item("b", title=text))

    said = kiosk.poll()

    assert bool(kiosk.ledger.bodies) == (text == LONG)
    assert (said["accepted"], said["duplicates"]) == (1, 2)
    (edited,) = [each for each in kiosk.accepted if each.startswith("a#")]
    event = kiosk.ledger.event(f"news:{edited}")
    assert event is not None
    assert event.payload["title"] == f"{text} anew"
    assert kiosk.poll()["accepted"] == 0


def test_edit_of_an_item_whose_body_is_gone_is_accepted() -> None:
    kiosk = Kiosk('first_run = "all"\nedits = "accept"')
    kiosk.publish(item("a", title=LONG))
    kiosk.poll()
    assert kiosk.ledger.bodies
    del kiosk.ledger.table.rows["cursor#news", "cursor"]
    kiosk.ledger.bodies.clear()
    kiosk.publish(item("a", title=f"{LONG} anew"))

    assert kiosk.poll()["accepted"] == 1
