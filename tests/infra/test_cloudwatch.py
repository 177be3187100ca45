"""The evaluator itself, against what CloudWatch's user guide says of missing data."""

from __future__ import annotations

import pytest

from tests.infra.cloudwatch.alarms import Metric, Watch
from tests.infra.cloudwatch.expressions import Series, evaluate
from tests.infra.cloudwatch.states import Judgement, Missing, State, judge

OK, ALARM, NO_DATA = State.OK, State.ALARM, State.INSUFFICIENT_DATA
KEPT = None  # "retain current state"

# The guide's rows: the newest point last, "-" missing; then the state where missing
# data is treated as missing, ignore, breaching, notBreaching.
THREE_OF_THREE = {
    "0 - X - X": (OK, OK, OK, OK),
    "0 - - - -": (OK, OK, OK, OK),
    "- - - - -": (NO_DATA, KEPT, ALARM, OK),
    "0 X X - X": (ALARM, ALARM, ALARM, ALARM),
    "- - X - -": (ALARM, KEPT, ALARM, OK),
    "- - - - X": (NO_DATA, KEPT, ALARM, OK),
    "- - - X -": (NO_DATA, KEPT, ALARM, OK),
}
TWO_OF_THREE = {
    "0 - X - X": (ALARM, ALARM, ALARM, ALARM),
    "0 0 X 0 X": (ALARM, ALARM, ALARM, ALARM),
    "0 - X - -": (OK, OK, ALARM, OK),
    "- - - - 0": (OK, OK, ALARM, OK),
    "- - - X -": (ALARM, KEPT, ALARM, OK),
}
ROWS = [
    (least, row, missing, state)
    for least, table in ((3, THREE_OF_THREE), (2, TWO_OF_THREE))
    for row, states in table.items()
    for missing, state in zip(
        ("missing", "ignore", "breaching", "notBreaching"), states, strict=True
    )
]


@pytest.mark.parametrize("before", list(State))
@pytest.mark.parametrize(("least", "row", "missing", "wanted"), ROWS)
def test_every_row_of_the_guide(
    least: int, row: str, missing: Missing, wanted: State | None, before: State
) -> None:
    points = [{"0": False, "X": True, "-": None}[letter] for letter in row.split()]
    how = Judgement(least=least, of=3, missing=missing)

    assert judge(points, how, before) is (before if wanted is KEPT else wanted)


@pytest.mark.parametrize(
    ("expression", "wanted"),
    [
        ("a", [1, None, 3]),
        ("FILL(a,0)", [1, 0, 3]),
        ("a+b", [3, None, 3]),
        ("100*b/a", [200, None, 0]),
        ("a/b", [0.5, None, None]),
        ("SUM([a,b])", [3, 5, 3]),
        ("MAX([FILL(a,9),b])", [2, 9, 3]),
        ("DIFF(b)", [None, 3, -5]),
        ("DIFF(a)", [None, None, None]),
        ("IF(b>=2,b,0)", [2, 5, 0]),
        ("IF(a>2,1,0)", [0, None, 1]),
        ("IF(FILL(a,0)<1,7,b-1)", [1, 7, -1]),
    ],
)
def test_metric_math_passes_over_what_is_missing(
    expression: str, wanted: Series
) -> None:
    assert evaluate(expression, {"a": [1, None, 3], "b": [2, 5, 0]}) == wanted


@pytest.mark.parametrize("expression", ["SEARCH(a)", "a if b else a", "RATE(a)"])
def test_what_it_does_not_know_is_an_error(expression: str) -> None:
    with pytest.raises(ValueError, match="no metric math"):
        evaluate(expression, {"a": [1], "b": [1]})


@pytest.mark.parametrize(
    ("statistic", "wanted"),
    [("Sum", 55), ("Maximum", 10), ("Average", 5.5), ("p95", 10), ("p50", 6)],
)
def test_samples_of_a_period_make_one_point(statistic: str, wanted: float) -> None:
    watch = Watch(metric=Metric(namespace="n", name="m"), statistic=statistic)

    assert watch.point([float(n) for n in range(1, 11)]) == wanted
    assert watch.point([]) is None
