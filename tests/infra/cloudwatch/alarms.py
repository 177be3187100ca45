"""Alarms of a template, watched through periods of metric data."""

from __future__ import annotations

import operator
import re
import statistics
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from tests.infra.cloudwatch.expressions import Series, evaluate
from tests.infra.cloudwatch.states import Judgement, State, judge
from tests.infra.template import Resource, Template, referred, shown

SCALING = "AWS::ApplicationAutoScaling::ScalingPolicy"

_COMPARISONS: dict[str, Callable[[float, float], bool]] = {
    "GreaterThanThreshold": operator.gt,
    "GreaterThanOrEqualToThreshold": operator.ge,
    "LessThanThreshold": operator.lt,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Metric:
    """A metric; ``dimensions`` are sorted, their values as :func:`shown`."""

    namespace: str
    name: str
    dimensions: tuple[tuple[str, str], ...] = ()

    @property
    def signature(self) -> tuple[str, str, tuple[str, ...]]:
        """What code decides; the dimensions' values are a fleet's own."""
        return self.namespace, self.name, tuple(name for name, _ in self.dimensions)


@dataclass(frozen=True, slots=True, kw_only=True)
class Watch:
    """A metric and how the samples of a period make one point."""

    metric: Metric
    statistic: str

    def point(self, samples: Sequence[float]) -> float | None:
        """Return the point of a period with these samples."""
        if not samples:
            return None
        match self.statistic:
            case "Sum":
                return sum(samples)
            case "Maximum":
                return max(samples)
            case "Minimum":
                return min(samples)
            case "SampleCount":
                return float(len(samples))
            case "Average":
                return statistics.fmean(samples)
            case percentile if re.fullmatch(r"p\d+", percentile):
                share = int(percentile[1:]) / 100
                return sorted(samples)[min(len(samples) - 1, int(len(samples) * share))]
        raise ValueError(f"no statistic: {self.statistic}")


@dataclass(slots=True)
class Alarm:
    """An alarm as CloudWatch would keep it; each :meth:`period` it is judged anew."""

    id: str
    runbook: str
    watches: Mapping[str, Watch]
    expression: str | None
    comparison: str
    threshold: float
    how: Judgement
    period_seconds: int
    state: State = State.INSUFFICIENT_DATA
    _points: list[dict[str, float | None]] = field(default_factory=list)

    def period(self, samples: Mapping[Metric, Iterable[float]]) -> State:
        """Let a period with these samples pass; return the state after it."""
        self._points.append(
            {
                name: watch.point(list(samples.get(watch.metric, ())))
                for name, watch in self.watches.items()
            }
        )
        compare = _COMPARISONS[self.comparison]
        judged = [
            None if value is None else compare(value, self.threshold)
            for value in self._series()
        ]
        self.state = judge(judged, self.how, self.state)
        return self.state

    def _series(self) -> Series:
        # One more than is judged: DIFF needs a predecessor.
        points = self._points[-self.how.range - 1 :]
        columns = {name: [p[name] for p in points] for name in self.watches}
        if self.expression is None:
            ((_, series),) = columns.items()
            return series
        return evaluate(self.expression, columns)


def telling(template: Template) -> list[Resource]:
    """Return the alarms that tell somebody; the others set how many containers run."""
    return [
        alarm
        for alarm in template.all("CloudWatch::Alarm")
        if template[referred(alarm.of("AlarmActions"))].type != SCALING
    ]


def read(resource: Resource) -> Alarm:
    """Read an alarm of a template."""
    queries = resource.of("Metrics")
    if queries is None:
        watches = {"m": _watch(resource.body["Properties"], resource.of)}
        expression, period = None, resource.of("Period")
    else:
        watches, periods = {}, set()
        (expression,) = [q["Expression"] for q in queries if q.get("ReturnData")]
        for query in queries:
            if "MetricStat" in query:
                stat = query["MetricStat"]
                watches[query["Id"]] = Watch(
                    metric=metric_of(stat["Metric"]), statistic=stat["Stat"]
                )
                periods.add(stat["Period"])
        (period,) = periods
    of = resource.of("EvaluationPeriods")
    return Alarm(
        id=resource.id,
        runbook=runbook_of(resource),
        watches=watches,
        expression=expression,
        comparison=resource.of("ComparisonOperator"),
        threshold=resource.of("Threshold"),
        how=Judgement(
            least=resource.of("DatapointsToAlarm") or of,
            of=of,
            missing=resource.of("TreatMissingData") or "missing",
        ),
        period_seconds=period,
    )


def _watch(properties: Mapping[str, Any], of: Callable[[str], Any]) -> Watch:
    return Watch(
        metric=metric_of(properties),
        statistic=of("Statistic") or of("ExtendedStatistic"),
    )


def metric_of(properties: Mapping[str, Any]) -> Metric:
    """Read a metric as CloudFormation spells it."""
    dimensions = properties.get("Dimensions") or []
    return Metric(
        namespace=properties["Namespace"],
        name=properties["MetricName"],
        dimensions=tuple(
            sorted((each["Name"], _shown(each["Value"])) for each in dimensions)
        ),
    )


def _shown(value: Any) -> str:
    if isinstance(value, dict) and "Fn::Select" in value:
        place, split = value["Fn::Select"]
        glue, text = split["Fn::Split"]
        return f"{_shown(text)}[{glue}{place}]"
    return shown(value)


def runbook_of(resource: Resource) -> str:
    """Return the name of the page that an alarm's description points to."""
    found = re.search(r"docs/runbooks/([\w-]+)\.md", resource.of("AlarmDescription"))
    return found[1] if found else ""
