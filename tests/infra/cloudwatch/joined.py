"""Joins what is watched to what was emitted: what one side alone knows is silent."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from lambdas.shared.observe import NAMESPACE
from tests.infra.cloudwatch.alarms import Metric, read
from tests.infra.cloudwatch.dashboards import drawn
from tests.infra.template import Template

# These dimensions hold names of the fleet: which agents did what is chance.
_OF_THE_FLEET = {"Agent", "Schedule", "Source", "Which"}


def watched(template: Template) -> Iterator[tuple[str, Metric]]:
    """Yield every metric of ours in an alarm or a widget, and who watches it."""
    for resource in template.all("CloudWatch::Alarm"):
        for watch in read(resource).watches.values():
            if watch.metric.namespace == NAMESPACE:
                yield resource.id, watch.metric
    for metric in drawn(template):
        if metric.namespace == NAMESPACE:
            yield "the dashboard", metric


def unheard_of(template: Template, emitted: Iterable[Metric]) -> list[str]:
    """Return what is watched and was never emitted, with who waits for it."""
    known = {_form(metric) for metric in [*emitted, *_of_filters(template)]}
    return sorted(
        {
            f"{who}: {metric.name} {dict(metric.dimensions)}"
            for who, metric in watched(template)
            if not _is_known(_form(metric), known)
        }
    )


def _of_filters(template: Template) -> Iterator[Metric]:
    """Yield the metrics that CloudWatch itself makes of log lines."""
    for found in template.all("Logs::MetricFilter"):
        for made in found.of("MetricTransformations"):
            yield Metric(namespace=made["MetricNamespace"], name=made["MetricName"])


def _form(metric: Metric) -> Metric:
    """Return the metric with the names of the fleet left out."""
    return Metric(
        namespace=metric.namespace,
        name=metric.name,
        dimensions=tuple(
            (name, "*" if name in _OF_THE_FLEET else value)
            for name, value in metric.dimensions
        ),
    )


def _is_known(metric: Metric, known: set[Metric]) -> bool:
    if metric in known:
        return True
    # A search of the dashboard takes every value.
    return any(each.signature == metric.signature for each in known) and all(
        value == "*" for _, value in metric.dimensions
    )
