"""Alarms of the door: what senders meet."""

from __future__ import annotations

from lambdas.shared.errors import Code
from stacks.alarms import MOST_METRICS, Alarm, Metric, ours
from stacks.signals.watched import Watched, batched


def alarms(fleet: Watched) -> list[Alarm]:
    """Return them."""
    return [
        _faults(fleet),
        _slow(fleet),
        *_refusals(fleet),
        _unread(),
        _too_large(),
        _unheard(),
    ]


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


def _refusals(fleet: Watched) -> list[Alarm]:
    # Of each source alone: beside a busy one, a source that is refused whole is a
    # small share. An unknown source is a 404 and somebody else's mistake.
    return [
        Alarm(
            name="refusals-401",
            meaning="Many requests to a source are refused: signature or time is"
            " wrong.",
            because="a fifth of a source's and at least ten in five minutes, twice: a"
            " secret that changed on one side refuses all of it, a stranger's attempts"
            " are few.",
            metrics={
                f"{kind}{n}": metric
                for n, source in enumerate(few, start=1)
                for kind, metric in _proofs(source).items()
            },
            expression=f"MAX([{','.join(_share(n + 1) for n in range(len(few)))}])",
            threshold=20,
            least=2,
            of=3,
            pages=False,
            number=number,
        )
        for number, few in enumerate(batched(fleet.sources, _SOURCES), start=1)
    ]


# What one alarm takes is ten metrics, of which a source has four.
_SOURCES = MOST_METRICS // 4


def _proofs(source: str) -> dict[str, Metric]:
    return {
        "forged": ours("EventsRefused", Source=source, Reason="bad_signature"),
        "stale": ours("EventsRefused", Source=source, Reason="stale"),
        "accepted": ours("EventsAccepted", Source=source),
        "again": ours("EventsDuplicate", Source=source),
    }


def _share(n: int) -> str:
    refused = f"(FILL(forged{n},0)+FILL(stale{n},0))"
    proven = f"(FILL(accepted{n},0)+FILL(again{n},0))"
    return f"IF({refused}>=10,100*{refused}/({refused}+{proven}),0)"


def _unread() -> Alarm:
    # These are found only after the signature has held: a sender's own doing.
    proven = [Code.NO_DELIVERY_ID, Code.BODY_TOO_LARGE, Code.METHOD_NOT_ALLOWED]
    # These a stranger can bring about as well, so only their share counts.
    open_ = [Code.MALFORMED, Code.NOT_ALLOWED_IP]
    metrics = {
        code.value.replace("_", ""): ours("EventsRefused", Reason=code.value)
        for code in (*proven, *open_)
    }
    sure = "+".join(f"FILL({c.value.replace('_', '')},0)" for c in proven)
    may_be = "(" + "+".join(f"FILL({c.value.replace('_', '')},0)" for c in open_) + ")"
    accepted = "(FILL(accepted,0)+FILL(again,0))"
    share = f"IF({may_be}>=10,100*{may_be}/({may_be}+{accepted}),0)"
    return Alarm(
        name="refusals-400",
        meaning="Deliveries are refused though their senders may well be true: they"
        " cannot be read, or come from an address that is not allowed.",
        because="one whose signature held; of what a stranger may send as well, a fifth"
        " of all and at least ten in five minutes. Most senders never repeat a 4xx.",
        metrics={
            **metrics,
            "accepted": ours("EventsAccepted"),
            "again": ours("EventsDuplicate"),
        },
        expression=f"IF({sure}>=1,100,{share})",
        threshold=20,
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
