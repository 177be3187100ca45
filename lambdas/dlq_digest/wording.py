"""The words of a digest, the same in Slack, in a mail and at a terminal."""

from __future__ import annotations

from datetime import UTC, datetime

from lambdas.dlq_digest.report import Group, Report, Vendor
from lambdas.shared.blame import Blame

IN_WORDS = {
    Blame.DOWNSTREAM_UNAVAILABLE: "unavailable",
    Blame.DOWNSTREAM_REJECTED: "rejected",
    Blame.RATE_LIMITED: "rate limited",
    Blame.AUTH: "not let in",
    Blame.BAD_PAYLOAD: "bad payload",
    Blame.AGENT_BUG: "agent bug",
    Blame.TIMEOUT: "timed out",
    Blame.OUT_OF_MEMORY: "out of memory",
    Blame.UNDELIVERABLE: "undeliverable",
}


def letters(count: int) -> str:
    """Return ``1 dead letter``, ``12 dead letters``."""
    return f"{count:,} dead letter{'' if count == 1 else 's'}"


def headline(report: Report) -> str:
    """Return what the digest says in one line."""
    if not report.open and not report.total:
        return "No dead letters"
    count = sum(group.count for group in report.open)
    if not report.open:
        return f"Nothing new: {letters(report.total)}, all dealt with"
    agents = {group.agent for group in report.open if group.queue == "agents"}
    among = f" of {plural(len(agents), 'agent')}" if agents else ""
    return f"{letters(count)}{among}, {plural(len(report.open), 'fault')}"


def plural(count: int, noun: str) -> str:
    """Return ``1 fault``, ``3 faults``."""
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def verdict(vendor: Vendor) -> str:
    """Return where to look when many letters failed on one other side."""
    among = (
        f" across {len(vendor.agents)} agents"
        if len(vendor.agents) > 1
        else f" of {vendor.agents[0]}"
    )
    return (
        f"{vendor.letters:,} letters{among} failed on {vendor.name}"
        f" (mostly {IN_WORDS[vendor.main]}): look at the vendor, not at the agent"
    )


def breakdown(report: Report) -> str:
    """Return the letters by category."""
    return " · ".join(f"{n:,} {kind}" for kind, n in report.by_blame())


def news(group: Group) -> str:
    """Return what is new of a group, or nothing."""
    if group.is_back:
        return "back"
    if group.is_new:
        return "new"
    return f"{group.fresh:,} since yesterday" if group.fresh else ""


def age(ms: int, now: datetime) -> str:
    """Return how long ago ``ms`` was, in its largest unit."""
    return span((now - datetime.fromtimestamp(ms / 1000, UTC)).total_seconds())


def span(seconds: float) -> str:
    """Return a length of time in its largest unit."""
    for unit, length in (("d", 86_400), ("h", 3_600), ("min", 60)):
        if seconds >= 2 * length or (seconds >= length and unit != "d"):
            return f"{int(seconds // length)} {unit}"
    return f"{max(0, int(seconds))} s"


def remaining(ms: int, now: datetime) -> str:
    """Return in how long ``ms`` will be."""
    left = (datetime.fromtimestamp(ms / 1000, UTC) - now).total_seconds()
    return span(max(0.0, left))


def one_line(text: str, longest: int) -> str:
    """Return ``text`` on one line, cut where it is too long."""
    flat = " ".join(text.split())
    return flat if len(flat) <= longest else f"{flat[: longest - 1]}…"


def sampling(report: Report) -> str | None:
    """Return the sentence that says not all letters were read, if so."""
    if report.read >= report.total:
        return None
    return (
        f"{report.read:,} of {report.total:,} letters were read, the newest first:"
        " counts of groups are of those"
    )
