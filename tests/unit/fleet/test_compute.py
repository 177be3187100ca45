"""Agents whose workers poll: their keys, and what follows from them."""

from __future__ import annotations

import pytest

from lambdas.shared.fleet import Agent, Fleet, parse
from tests.unit.fleet.broken import HELLO, of_agent, problems

_FARGATE = 'compute = "fargate"\n'


def _agent(keys: str) -> Agent:
    return parse(of_agent(keys)).agents["hello"]


def test_a_polling_worker_hides_its_message_for_three_heartbeats() -> None:
    agent = _agent(f"{_FARGATE}heartbeat_seconds = 20")

    assert agent.polls
    assert agent.visibility_seconds == 60


def test_a_function_hides_its_message_for_six_timeouts() -> None:
    agent = _agent("timeout_seconds = 20")

    assert not agent.polls
    assert agent.visibility_seconds == 120


@pytest.mark.parametrize(
    ("keys", "seconds"),
    [
        ("timeout_seconds = 20", 20),
        (f"{_FARGATE}max_duration_seconds = 600", 600),
        # SQS hides a message for 12 h at most: longer runs go on under a new one.
        (f"{_FARGATE}max_duration_seconds = 172_800", 11 * 3600),
    ],
    ids=["function", "worker", "worker for days"],
)
def test_one_message_works_no_longer_than_it_can_be_hidden(
    keys: str, seconds: int
) -> None:
    assert _agent(keys).longest_attempt_seconds == seconds


def test_the_smallest_task_is_the_default() -> None:
    agent = _agent(_FARGATE)

    assert (agent.cpu, agent.memory_mb) == (256, 512)


def test_memory_follows_the_cpu_that_was_asked_for() -> None:
    assert _agent(f"{_FARGATE}cpu = 1024").memory_mb == 2048


def test_a_worker_may_be_the_only_one() -> None:
    assert _agent(f"{_FARGATE}max_concurrency = 1").max_concurrency == 1


def test_hours_and_expectation_are_read() -> None:
    agent = _agent(
        f'{_FARGATE}business_hours = "MON-FRI 09:00-18:00"\n'
        'timezone = "Europe/Berlin"\nexpect_every_minutes = 60'
    )

    assert agent.business_hours == "MON-FRI 09:00-18:00"
    assert agent.timezone == "Europe/Berlin"
    assert agent.expect_every_minutes == 60


def test_the_fleet_knows_who_polls() -> None:
    fleet: Fleet = parse(f"{HELLO}{_FARGATE}")

    assert list(fleet.polling) == ["hello"]
    assert parse(HELLO).polling == {}


def test_a_slip_in_compute_is_told_alone() -> None:
    slip = "compute = 'fargat'\nspot = true\nstall_seconds = 300"

    (problem,) = problems(of_agent(slip))

    assert problem.endswith("did you mean 'fargate'?")


def test_own_subnets_are_read() -> None:
    network = (
        '[fleet]\nvpc = "vpc-0a1b2c3d"\nsubnets = ["subnet-0a1b2c3d"]\npublic_ip = true'
    )
    fleet = parse(f"{HELLO}{network}")

    assert (fleet.vpc, fleet.subnets) == ("vpc-0a1b2c3d", ("subnet-0a1b2c3d",))
    assert fleet.public_ip


@pytest.mark.parametrize(
    ("keys", "problem"),
    [
        ("spot = true", 'spot: is a key of compute = "fargate"; want it removed'),
        ("cpu = 256", 'cpu: is a key of compute = "fargate"; want it removed'),
        ("timezone = 'UTC'", "timezone: goes with business_hours; want it removed"),
        (
            f"{_FARGATE}timezone = 'UTC'",
            "timezone: goes with business_hours; want it removed",
        ),
        (
            f"{_FARGATE}timeout_seconds = 60",
            'timeout_seconds: is a key of compute = "lambda"; want'
            " max_duration_seconds instead",
        ),
        (
            f"{_FARGATE}batch_size = 5",
            'batch_size: is a key of compute = "lambda"; want max_concurrency (a'
            " worker takes one message at a time) instead",
        ),
        (
            f"{_FARGATE}cpu = 300",
            "cpu: want 256 | 512 | 1024 | 2048 | 4096 | 8192 | 16384, got 300",
        ),
        (
            f"{_FARGATE}memory_mb = 3072",
            "memory_mb: want 512 | 1024 | 2048 with cpu = 256, got 3072",
        ),
        (
            f"{_FARGATE}cpu = 8192\nmemory_mb = 17408",
            "memory_mb: want 16384 to 61440 by 4096 with cpu = 8192, got 17408",
        ),
        (
            f"{_FARGATE}grace_seconds = 120",
            "grace_seconds: want 1 to 110, got 120",
        ),
        (
            f"{_FARGATE}heartbeat_seconds = 60\nstall_seconds = 30",
            "stall_seconds: want at least heartbeat_seconds (60): a run is looked at"
            " once a heartbeat; got 30",
        ),
        (
            f"{_FARGATE}business_hours = 'always'\nexpect_every_minutes = 5",
            "business_hours: want hours like 'MON-FRI 09:00-18:00', got 'always'",
        ),
        (
            f"{_FARGATE}business_hours = 'MON 09:00-09:00'\nexpect_every_minutes = 5",
            "business_hours: want hours that last, got 'MON 09:00-09:00'",
        ),
        (
            f"{_FARGATE}business_hours = 'MON 09:00-18:00'",
            "business_hours: want expect_every_minutes beside it",
        ),
        (
            f"{_FARGATE}expect_every_minutes = 5",
            "expect_every_minutes: want business_hours beside it",
        ),
        (
            f"{_FARGATE}environment = {{ ECS_AGENT_URI = 'x' }}",
            "environment.ECS_AGENT_URI: this name is taken; want another one",
        ),
        (
            "timeout_seconds = 120\nmax_duration_seconds = 60",
            "max_duration_seconds: want at least timeout_seconds (120), got 60",
        ),
        (
            "max_duration_seconds = 700_000",
            "max_duration_seconds: want 1 to 604800, got 700000",
        ),
        (
            f"{_FARGATE}max_duration_seconds = 86_400\nmax_receives = 9",
            "backoff_max_seconds: 9 receives with waits of 40500 s outlast the queue"
            " (4 days); want fewer receives or shorter waits",
        ),
    ],
)
def test_problem_says_where_it_is_and_what_was_wanted(keys: str, problem: str) -> None:
    assert problems(of_agent(keys)) == [f"fleet.toml: agents.hello.{problem}"]
