"""A Slack message drawn as text or as a page: what a reader will see, roughly."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator, Mapping
from typing import Any

_EMOJI = {
    "rotating_light": "\N{POLICE CARS REVOLVING LIGHT}",
    "hourglass": "\N{HOURGLASS}",
    "warning": "\N{WARNING SIGN}",
    "white_check_mark": "\N{WHITE HEAVY CHECK MARK}",
    "small_orange_diamond": "\N{SMALL ORANGE DIAMOND}",
}
_STYLE = """
body { background: #f4f4f4; font: 15px/1.46 Lato, Arial, sans-serif; color: #1d1c1d; }
main { background: #fff; max-width: 680px; margin: 24px auto; padding: 16px 20px; }
h1 { font-size: 18px; margin: 0 0 8px; } hr { border: 0; border-top: 1px solid #ddd; }
.block { display: flex; gap: 16px; margin: 8px 0; } .text { flex: 1; min-width: 0;
overflow-wrap: anywhere; } .context { color: #616061; font-size: 12px; }
a.button { border: 1px solid #bbb; border-radius: 4px; padding: 5px 12px; height: 20px;
color: inherit; text-decoration: none; font-weight: 700; font-size: 13px; }
q { quotes: none; border-left: 4px solid #ddd; padding-left: 10px; display: block; }
code { background: #f6f6f6; border: 1px solid #ddd; color: #c01343; font-size: 12px;
padding: 1px 3px; border-radius: 3px; }
"""


def as_text(message: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield the lines of a message with the style that each is printed in."""
    for block in message["blocks"]:
        match block["type"]:
            case "header":
                yield _emoji(block["text"]["text"]), "bold reverse"
            case "divider":
                yield "\N{BOX DRAWINGS LIGHT HORIZONTAL}" * 60, "dim"
            case "context":
                for element in block["elements"]:
                    yield _plain(element["text"]), "dim"
            case _:
                first, *rest = _plain(block["text"]["text"]).split("\n")
                yield first, "bold"
                yield from ((line, "") for line in rest)
                button = block.get("accessory")
                if button:
                    yield f"[{button['text']['text']}] {button['url']}", "blue"


def as_html(message: Mapping[str, Any]) -> str:
    """Return the message as a page of its own."""
    drawn = "\n".join(_drawn(block) for block in message["blocks"])
    return (
        '<!doctype html><meta charset="utf-8"><title>Bellhop digest</title>'
        f"<style>{_STYLE}</style><main>\n{drawn}\n</main>\n"
    )


def _drawn(block: Mapping[str, Any]) -> str:
    match block["type"]:
        case "header":
            return f"<h1>{html.escape(_emoji(block['text']['text']))}</h1>"
        case "divider":
            return "<hr>"
        case "context":
            texts = "<br>".join(_marked(each["text"]) for each in block["elements"])
            return f'<div class="block context"><div class="text">{texts}</div></div>'
        case _:
            button = block.get("accessory")
            drawn = ""
            if button:
                url = html.escape(button["url"])
                text = html.escape(button["text"]["text"])
                drawn = f'<a class="button" href="{url}">{text}</a>'
            text = _marked(block["text"]["text"])
            return f'<div class="block"><div class="text">{text}</div>{drawn}</div>'


def _marked(text: str) -> str:
    """Return Slack's mrkdwn as HTML; what it escapes is escaped already."""
    lines = []
    for line in _emoji(text).replace('"', "&quot;").split("\n"):
        shown = re.sub(r"`([^`]+)`", r"<code>\1</code>", line)
        shown = re.sub(r"(?<![\w*])\*([^*]+)\*(?![\w*])", r"<b>\1</b>", shown)
        if shown.startswith("> "):
            shown = f"<q>{shown[2:]}</q>"
        lines.append(shown)
    return "<br>".join(lines).replace("</q><br>", "</q>")


def _plain(text: str) -> str:
    shown = re.sub(r"(?<![\w*])\*([^*]+)\*(?![\w*])", r"\1", _emoji(text))
    shown = shown.replace("`", "").replace("&lt;", "<").replace("&gt;", ">")
    return shown.replace("&amp;", "&")


def _emoji(text: str) -> str:
    return re.sub(r":([a-z_]+):", lambda m: _EMOJI.get(m[1], m[0]), text)
