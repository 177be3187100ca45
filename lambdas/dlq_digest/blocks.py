"""A digest as Slack shows it: Block Kit, within what Slack documents as its limits."""

from __future__ import annotations

from typing import Any

from lambdas.dlq_digest import wording
from lambdas.dlq_digest.report import Group, Links, Report

# Slack, Block Kit reference: 50 blocks a message, 3,000 characters in a section's
# text, 150 in a header, 75 on a button, 3,000 in its address.
MOST_BLOCKS = 50
LONGEST_SECTION = 3000
LONGEST_HEADER = 150
LONGEST_URL = 3000
# Slack cuts a message's own text at 40,000 and asks for 4,000 at most.
LONGEST_TEXT = 4000

# What a person reads in ten seconds; the rest is one command away.
_MOST_GROUPS = 8
_MOST_VENDORS = 3
_LONGEST_MESSAGE = 240

Block = dict[str, Any]


def message(report: Report, links: Links) -> dict[str, Any]:
    """Return the message: ``blocks``, and ``text`` for notifications."""
    if report.is_clear:
        return {
            "text": f"{wording.headline(report)}. All clear.",
            "blocks": [_section(f":white_check_mark: *{wording.headline(report)}.*")],
        }
    blocks = [_header(report), *_summary(report)]
    shown = report.open[:_MOST_GROUPS]
    if shown:
        blocks.append({"type": "divider"})
    for group in shown:
        blocks.append(_group(group, report, links))
    rest = report.open[_MOST_GROUPS:]
    blocks += _end(rest, report, links)
    return {"text": plain(report, links)[:LONGEST_TEXT], "blocks": blocks[:MOST_BLOCKS]}


def plain(report: Report, links: Links) -> str:
    """Return the digest in plain text, for notifications and for the worst case."""
    lines = [wording.headline(report)]
    lines += [wording.verdict(vendor) for vendor in report.vendors()[:_MOST_VENDORS]]
    lines += report.remarks
    for group in report.open[:_MOST_GROUPS]:
        lines.append(f"{group.count} x {_title(group)}: {links.command(group)}")
    return "\n".join(lines)


def _header(report: Report) -> Block:
    text = wording.one_line(wording.headline(report), LONGEST_HEADER)
    return {"type": "header", "text": {"type": "plain_text", "text": text}}


def _summary(report: Report) -> list[Block]:
    lines = [
        f":rotating_light: *{_escaped(wording.verdict(vendor))}*"
        for vendor in report.vendors()[:_MOST_VENDORS]
    ]
    more = len(report.vendors()) - _MOST_VENDORS
    if more > 0:
        names = ", ".join(vendor.name for vendor in report.vendors()[_MOST_VENDORS:])
        lines.append(
            f"Likewise, 5 or more each: {_escaped(wording.one_line(names, 600))}"
        )
    if report.expiring:
        lines.append(
            f":hourglass: *{wording.letters(report.expiring)} will be dropped by SQS"
            " within 48 h*"
        )
    if report.open:
        lines.append(_escaped(wording.breakdown(report)))
    lines += [f":warning: {_escaped(remark)}" for remark in report.remarks]
    sampled = wording.sampling(report)
    if sampled:
        lines.append(_escaped(sampled))
    return [_section("\n".join(lines))] if lines else []


def _group(group: Group, report: Report, links: Links) -> Block:
    news = wording.news(group)
    told = [f"oldest {wording.age(group.oldest_ms, report.at)}"]
    if group.expires_ms:
        left = wording.remaining(group.expires_ms, report.at)
        told.append(f"first dropped in {left}")
    title = f"*{group.count:,} x {_escaped(_title(group))}*"
    said = wording.one_line(f"{group.type}: {group.message}", _LONGEST_MESSAGE)
    text = "\n".join(
        [
            f"{title}{f'  :small_orange_diamond: {news}' if news else ''}",
            f"> {_escaped(said)}",
            f"{' · '.join(told)}\n`{_escaped(links.command(group))}`",
        ]
    )
    block = _section(text)
    console = links.console(group)
    if console is not None and len(console) <= LONGEST_URL:
        block["accessory"] = {
            "type": "button",
            "text": {"type": "plain_text", "text": "Redrive in SQS"},
            "url": console,
            "action_id": f"redrive-{group.fingerprint}",
        }
    return block


def _end(rest: tuple[Group, ...], report: Report, links: Links) -> list[Block]:
    words = []
    stack = "--local" if links.stack == "local" else f"--stack {links.stack}"
    if rest:
        count = sum(group.count for group in rest)
        words.append(
            f"and {wording.plural(len(rest), 'more fault')} ({count:,} letters):"
            f" `bellhop dead list {stack}`"
        )
    if report.quiet:
        count = sum(group.count for group in report.quiet)
        words.append(
            f"{wording.plural(len(report.quiet), 'fault')} acknowledged, ignored or"
            f" resolved ({count:,} letters) not shown"
        )
    if report.strays:
        words.append(f"{report.strays:,} letters are copies of runs that are over")
    if not words:
        return []
    text = _cut("\n".join(words), LONGEST_SECTION)
    return [{"type": "context", "elements": [{"type": "mrkdwn", "text": text}]}]


def _title(group: Group) -> str:
    where = group.agent if group.queue == "agents" else f"{group.queue}: {group.agent}"
    other = f" on {group.downstream}" if group.downstream else ""
    return f"{where}: {group.blame}{other}"


def _section(text: str) -> Block:
    return {
        "type": "section",
        "text": {"type": "mrkdwn", "text": _cut(text, LONGEST_SECTION)},
    }


def _cut(text: str, longest: int) -> str:
    return text if len(text) <= longest else f"{text[: longest - 1]}…"


def _escaped(text: str) -> str:
    """Return ``text`` as Slack shows it literally: no link, no mention, no code."""
    plain = text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return plain.replace("`", "'")
