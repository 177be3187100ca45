"""Failures of one fault are equal, failures of two are not."""

from __future__ import annotations

import pytest

from lambdas.shared.fingerprint import fingerprint, masked


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
