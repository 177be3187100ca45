"""Alarms of the door: what senders meet."""

from __future__ import annotations

from stacks.alarms import Alarm, Metric, ours
from stacks.signals.watched import Watched


def alarms(fleet: Watched) -> list[Alarm]:
    """Return them."""
    return [_faults(fleet), _slow(fleet), _refusals(), _too_large(), _unheard()]


def _api(fleet: Watched, name: str, statistic: str) -> Metric:
    return Metric(
        namespace="AWS/ApiGateway",
        name=name,
        statistic=statistic,
        dimensions={"ApiId": fleet.api},
    )


def _faults(fleet: Watched) -> Alarm:
    return Alarm(
        name="receiver-5xx",
        meaning="A sender was answered with a 5xx.",
        because="one in five minutes; GitHub and Sentry never send a delivery again.",
        metrics={"faults": _api(fleet, "5xx", "Sum")},
        threshold=1,
        pages=True,
    )


def _slow(fleet: Watched) -> Alarm:
    return Alarm(
        name="receiver-p99",
        meaning="The slowest answers at the door take too long.",
        because="2.5 s for a quarter of an hour; Slack gives up after 3 s, and a"
        " cold start alone takes less than 2.",
        metrics={"latency": _api(fleet, "Latency", "p99")},
        is_at_fault=">",
        threshold=2500,
        least=3,
        of=3,
        pages=False,
    )


def _too_large() -> Alarm:
    return Alarm(
        name="gateway-refused-body",
        meaning="AWS refused a body that was too large; nothing was written down.",
        because="one: the receiver never saw it, and most senders never repeat a 413.",
        # Counted from the API's access log (stacks/ingress.py).
        metrics={"refused": ours("GatewayRefusedBody")},
        threshold=1,
        pages=False,
    )


def _refusals() -> Alarm:
    # Of the requests that claim to come from a source of ours; an unknown source is
    # a 404 and somebody else's mistake.
    refused = "(FILL(forged,0)+FILL(stale,0))"
    proven = "(FILL(accepted,0)+FILL(again,0))"
    return Alarm(
        name="refusals-401",
        meaning="Many requests are refused: signature or time is wrong.",
        because="a fifth of all and at least ten in five minutes, twice: a secret that"
        " changed on one side refuses a whole source, a stranger's attempts are few.",
        metrics={
            "forged": ours("EventsRefused", Reason="bad_signature"),
            "stale": ours("EventsRefused", Reason="stale"),
            "accepted": ours("EventsAccepted"),
            "again": ours("EventsDuplicate"),
        },
        expression=f"IF({refused}>=10,100*{refused}/({refused}+{proven}),0)",
        threshold=20,
        least=2,
        of=3,
        pages=False,
    )


def _unheard() -> Alarm:
    return Alarm(
        name="unheard",
        meaning="Most events that were accepted are heard by no agent.",
        because="half of all and at least ten in a quarter of an hour: some kinds are"
        " nobody's business, all of them are a pattern that does not match.",
        metrics={
            "unheard": ours("EventsUnheard"),
            "accepted": ours("EventsAccepted"),
        },
        expression="IF(FILL(unheard,0)>=10,"
        "100*FILL(unheard,0)/(FILL(unheard,0)+FILL(accepted,0)),0)",
        # Accepted holds the unheard too: half of all is a third of the two together.
        threshold=33,
        period_seconds=900,
        pages=False,
    )
