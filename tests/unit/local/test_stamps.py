"""Messages are stamped by a clock file that runs ahead, so that redrives count."""

from __future__ import annotations

import time
from typing import Any

import pytest

from local.stamps import Stamps


def message() -> dict[str, Any]:
    now = time.time()
    return {"sent_at": now, "first_receive_at": now, "sys": {"SentTimestamp": "1"}}


def test_message_after_a_run_that_ended_at_a_still_hour_to_come_is_a_later_one() -> (
    None
):
    hour = float(int(time.time()) + 86_400)
    stamps = Stamps(lambda: hour)
    first, redriven = message(), message()

    stamps.stamp(first)
    stamps.stamp(redriven)
    stamps.stamp(first)

    assert int(first["sent_at"] * 1000) == int(hour * 1000)
    assert int(redriven["sys"]["SentTimestamp"]) > int(hour * 1000)
    assert redriven["first_receive_at"] == redriven["sent_at"]
    assert int(first["sys"]["SentTimestamp"]) == int(hour * 1000)


@pytest.mark.parametrize("ahead_seconds", [0, -86_400])
def test_by_the_real_time_and_in_the_past_the_queues_own_stamps_stay(
    ahead_seconds: int,
) -> None:
    stamps, one = Stamps(lambda: time.time() + ahead_seconds), message()
    before = dict(one)

    stamps.stamp(one)

    assert one == before
