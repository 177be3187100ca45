"""What is not EventBridge's grammar is refused with what was wanted."""

from __future__ import annotations

import pytest

from lambdas.shared.cron import CronError, parse


@pytest.mark.parametrize(
    ("expression", "said"),
    [
        ("0 6 * * 1", "want six fields like '0 6 ? * MON-FRI *', got '0 6 * * 1'"),
        ("60 6 * * ? *", "minutes: want 0 to 59, got '60'"),
        ("0 24 * * ? *", "hours: want 0 to 23, got '24'"),
        ("0 6 0 * ? *", "day-of-month: want 1 to 31, got '0'"),
        ("0 6 * 13 ? *", "month: want 1 to 12 or JAN to DEC, got '13'"),
        ("0 6 ? * 0 *", "day-of-week: want 1 to 7 or SUN to SAT, got '0'"),
        ("0 6 ? * MONDAY *", "day-of-week: want 1 to 7 or SUN to SAT, got 'MONDAY'"),
        ("0 6 ? * 2#6 *", "day-of-week: want 1 to 5 after #, got '2#6'"),
        ("0 6 * * ? 1969", "year: want 1970 to 2199, got '1969'"),
        ("0 6 L-3 * ? *", "day-of-month: want 1 to 31, got 'L'"),
        ("0 6 1W,15W * ? *", "day-of-month: want 1 to 31, got '1W,15'"),
        ("*/0 6 * * ? *", "minutes: want a step of 1 or more, got '*/0'"),
        ("*-5 6 * * ? *", "minutes: want * or a range, got '*-5'"),
        (", 6 * * ? *", "minutes: want numbers with , - * /, got ''"),
        ("² 6 * * ? *", "minutes: want 0 to 59, got '²'"),
        ("9" * 5000 + " 6 * * ? *", "want at most 250 characters, got 5010"),
        ("0 ? * * ? *", "hours: want numbers with , - * /, got '?'"),
    ],
)
def test_a_wrong_field_is_named(expression: str, said: str) -> None:
    with pytest.raises(CronError) as refused:
        parse(expression)

    assert str(refused.value) == said


@pytest.mark.parametrize("days", ["* * *", "? * ?", "1 * MON", "* * MON-FRI"])
def test_exactly_one_day_field_is_a_question_mark(days: str) -> None:
    with pytest.raises(CronError, match="want \\? in exactly one of the fields"):
        parse(f"0 6 {days} *")


def test_a_range_over_the_end_is_to_be_written_as_two() -> None:
    with pytest.raises(CronError, match="such as 22-23,0-2"):
        parse("0 22-2 * * ? *")


@pytest.mark.parametrize(
    ("expression", "is_possible"),
    [
        ("0 6 31 2 ? *", False),
        ("0 6 30,31 FEB ? *", False),
        ("0 6 31 2,4,6,9,11 ? *", False),
        ("0 6 31W FEB ? *", False),
        ("0 6 29 2 ? 2027", False),
        ("0 6 29 2 ? 2027-2028", True),
        ("0 6 ? 2 MON#5 2027", False),
        ("0 6 31 2,3 ? *", True),
    ],
)
def test_days_that_no_year_has_are_impossible(
    expression: str, is_possible: bool
) -> None:
    assert parse(expression).is_possible is is_possible
