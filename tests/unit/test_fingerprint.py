"""Failures of one fault are equal, failures of two are not."""

from __future__ import annotations

import pytest

from lambdas.shared.fingerprint import fingerprint, masked, of_words

FRAMES = [("agents/a.py", "run")]
_BROKEN = "Expecting value: line {} column {} (char {})"


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("issue 7 is locked", "issue 12345 is locked"),
        ("'acme/app' not found", "'acme/site' not found"),
        (
            "run 6a7e8feb-b491-4cf7-a9f1-bf3703467718 failed",
            "run 00000000-b491-4cf7-a9f1-000000000000 failed",
        ),
        ("evt_1NG8Du2eZvKYlo2C is unknown", "evt_9XX8Du2eZvKYlo2C is unknown"),
        ("GET https://a.example/1?x=2 failed", "GET https://b.example/9 failed"),
        ("at 0x7f3a1c", "at 0x1b"),
        ("took 1.5 s at 12:00:01", "took 17 s at 23:59:59"),
    ],
)
def test_what_changes_between_occurrences_is_masked(one: str, other: str) -> None:
    assert masked(one) == masked(other) != one


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("issue is locked", "issue is closed"),
        ("connection refused", "connection reset by peer"),
        ("internationalization failed", "internationalisation failed"),
    ],
)
def test_what_tells_faults_apart_is_kept(one: str, other: str) -> None:
    assert masked(one) != masked(other)


def caught(kind: type[Exception], message: str, place: str) -> Exception:
    def here() -> None:
        raise kind(message)

    def there() -> None:
        raise kind(message)

    try:
        here() if place == "here" else there()
    except Exception as error:
        return error
    raise AssertionError


def test_type_message_and_place_make_a_fingerprint() -> None:
    prints = {
        name: fingerprint(error, str(error))
        for name, error in {
            "first": caught(ValueError, "issue 7 is locked", "here"),
            "again": caught(ValueError, "issue 8 is locked", "here"),
            "type": caught(KeyError, "issue 7 is locked", "here"),
            "message": caught(ValueError, "issue 7 is gone", "here"),
            "place": caught(ValueError, "issue 7 is locked", "there"),
        }.items()
    }

    assert prints["first"] == prints["again"]
    assert len(set(prints.values())) == 4


def test_error_that_was_never_raised_has_a_fingerprint_too() -> None:
    assert len(fingerprint(ValueError("x"), "x")) == 16


def test_huge_message_is_masked_quickly() -> None:
    """An exception may quote a whole body of a sender's making."""
    assert len(masked("a1" * 1_000_000)) < 1_000


@pytest.mark.parametrize(
    ("kind", "one", "other"),
    [
        (
            "aiohttp.ClientResponseError",
            "503, message='Service Unavailable', url='https://a.crm.example.com/1'",
            "503, message='Service Unavailable', url='https://b.crm.example.com/2'",
        ),
        (
            "pymysql.err.OperationalError",
            "(2003, \"Can't connect to MySQL server on 'db-1'\")",
            "(2003, \"Can't connect to MySQL server on 'db-7'\")",
        ),
        (
            "psycopg.errors.UniqueViolation",
            'violates unique constraint "orders_pkey"\nDETAIL:  Key (id)=(123) exists.',
            'violates unique constraint "orders_pkey"\nDETAIL:  Key (id)=(abc) exists.',
        ),
        (
            "anthropic.BadRequestError",
            "Error code: 400 - {'error': {'message': '9 > 8'}, 'request_id': 'a'}",
            "Error code: 400 - {'error': {'message': '7 > 8'}, 'request_id': 'b'}",
        ),
        ("KeyError", "'order-77'", "'X9'"),
        ("json.JSONDecodeError", _BROKEN.format(3, 8, 77), _BROKEN.format(1, 9, 8)),
    ],
)
def test_same_fault_in_other_words_is_one(kind: str, one: str, other: str) -> None:
    assert of_words(kind, one, FRAMES) == of_words(kind, other, FRAMES)


@pytest.mark.parametrize(
    ("kind", "one", "other"),
    [
        ("aiohttp.ClientResponseError", "503, message='no'", "502, message='no'"),
        ("pymysql.err.OperationalError", "(2003, 'no')", "(1040, 'no')"),
        ("psycopg.errors.UndefinedColumn", 'column "a" is not', 'column "b" is not'),
        ("KeyError", "'id'", "'email'"),
        (
            "AttributeError",
            "'NoneType' object has no attribute 'get'",
            "'NoneType' object has no attribute 'strip'",
        ),
        (
            "slack_sdk.errors.SlackApiError",
            "{'ok': False, 'error': 'not_in_channel'}",
            "{'ok': False, 'error': 'is_archived'}",
        ),
        ("HTTPError", "HTTP Error 404: Not Found", "HTTP Error 403: Not Found"),
        ("json.JSONDecodeError", _BROKEN.format(1, 1, 0), _BROKEN.format(1, 9, 8)),
    ],
)
def test_other_faults_in_like_words_are_two(kind: str, one: str, other: str) -> None:
    assert of_words(kind, one, FRAMES) != of_words(kind, other, FRAMES)


def test_place_counts_where_no_other_side_is_known() -> None:
    here, there = [("agents/a.py", "run")], [("agents/b.py", "run")]
    refused = ("slack_sdk.errors.SlackApiError", "{'error': 'ratelimited'}")

    assert of_words("KeyError", "'id'", here) != of_words("KeyError", "'id'", there)
    assert of_words(*refused, here) == of_words(*refused, there)


@pytest.mark.parametrize(
    "message",
    ["{" * 5_000, "'" * 5_000, "(" * 5_000 + "5" * 999, "{'a': " * 300, "\ue000 x", ""],
)
def test_hostile_message_is_masked_without_trouble(message: str) -> None:
    assert len(of_words("KeyError", message)) == 16
