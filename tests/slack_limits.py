"""What Slack documents of a message and its blocks, as a validator.

From the Block Kit reference and ``chat.postMessage``; a message that breaks one
of these is answered ``invalid_blocks`` or cut without a word.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

_TEXT = {"plain_text", "mrkdwn"}


def faults(message: Mapping[str, Any]) -> list[str]:
    """Return every documented limit that ``message`` breaks."""
    return list(_message(message))


def _message(message: Mapping[str, Any]) -> Iterator[str]:
    blocks = message.get("blocks", [])
    if not 1 <= len(blocks) <= 50:
        yield f"{len(blocks)} blocks, 1 to 50 are allowed"
    text = message.get("text", "")
    if not 0 < len(text) <= 4000:
        yield f"a text of {len(text)} characters, for notifications up to 4,000"
    if len(text.encode()) > 40_000:
        yield "a text that is cut"
    seen: set[str] = set()
    for number, block in enumerate(blocks):
        if len(block.get("block_id", "")) > 255:
            yield f"block {number}: a block_id of more than 255 characters"
        for fault in _block(block):
            yield f"block {number} ({block.get('type')}): {fault}"
        action = block.get("accessory", {}).get("action_id")
        if action is not None and action in seen:
            yield f"block {number}: action_id {action} is used twice"
        seen.add(action or "")


def _section(block: Mapping[str, Any]) -> Iterator[str]:
    if "text" not in block and not block.get("fields"):
        yield "neither text nor fields"
    if "text" in block:
        yield from _text(block["text"], 3000, _TEXT)
    fields = block.get("fields", [])
    if len(fields) > 10:
        yield f"{len(fields)} fields, 10 are allowed"
    for field in fields:
        yield from _text(field, 2000, _TEXT)
    if "accessory" in block:
        yield from _button(block["accessory"])


def _block(block: Mapping[str, Any]) -> Iterator[str]:
    match block.get("type"):
        case "header":
            yield from _text(block.get("text"), 150, {"plain_text"})
        case "section":
            yield from _section(block)
        case "context":
            elements = block.get("elements", [])
            if not 1 <= len(elements) <= 10:
                yield f"{len(elements)} elements, 1 to 10 are allowed"
            for element in elements:
                yield from _text(element, 3000, _TEXT)
        case "divider":
            if set(block) - {"type", "block_id"}:
                yield "a divider has nothing but its type"
        case other:
            yield f"no such block here: {other}"


def _button(button: Mapping[str, Any]) -> Iterator[str]:
    if button.get("type") != "button":
        yield f"no such accessory here: {button.get('type')}"
    yield from _text(button.get("text"), 75, {"plain_text"})
    if len(button.get("url", "")) > 3000:
        yield "an address of more than 3,000 characters"
    if not 0 < len(button.get("action_id", "")) <= 255:
        yield "an action_id of 1 to 255 characters"


def _text(text: Any, longest: int, kinds: set[str]) -> Iterator[str]:
    if not isinstance(text, dict) or text.get("type") not in kinds:
        yield f"a text of {sorted(kinds)}, got {text!r:.60}"
        return
    words = text.get("text", "")
    if not 1 <= len(words) <= longest:
        yield f"a text of {len(words)} characters, 1 to {longest} are allowed"
    if "\x00" in words:
        yield "a NUL character"
