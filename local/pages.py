"""Writes the reference's pages of the senders from their modules.

``python -m local.pages`` writes ``docs/reference/senders``; a unit test holds the
files to what this returns, so that neither is changed alone.
"""

from __future__ import annotations

import importlib
import json
import re
from collections.abc import Iterable, Mapping
from pathlib import Path

from cli import samples, signers
from lambdas.receiver.places import Body, Header, Place, Query
from lambdas.receiver.senders import Sender
from lambdas.shared import senders
from local.home import ROOT

FOLDER = ROOT / "docs/reference/senders"
INDEX = "README.md"

_MADE_FROM = (
    "<!-- Made from lambdas/receiver/senders by `python -m local.pages`:"
    " change it there. -->"
)


_CLAUSE = re.compile(r"[;.:] |\.$")
# Names such as pspReference or developers.facebook.com stay as they are.
_WORD = re.compile(r"[a-z]+[ ,;:]")
_SPAN = re.compile(r"\b[0-9]+ (s|h|days?)\b")


def pages() -> Mapping[str, str]:
    """Return every page's text by its file name, the index among them."""
    names = senders.names()
    found = {f"{name}.md": _page(name) for name in names}
    return {INDEX: _index(names), **found}


def write(folder: Path = FOLDER) -> list[Path]:
    """Write all pages, and remove those whose sender is gone."""
    folder.mkdir(parents=True, exist_ok=True)
    wanted = pages()
    for old in folder.glob("*.md"):
        if old.name not in wanted:
            old.unlink()
    for name, text in wanted.items():
        (folder / name).write_text(text, encoding="utf-8")
    return sorted(folder.glob("*.md"))


def _record(name: str) -> Sender:
    package = "lambdas.receiver.senders"
    module = importlib.import_module(f"{package}.{name.replace('-', '_')}")
    record: Sender = module.SENDER
    return record


def _index(names: Iterable[str]) -> str:
    lines = [
        "# Senders",
        "",
        _MADE_FROM,
        "",
        "Who can call, and how each proves that it is itself. One that is missing",
        "needs [a module](../../howto/add-a-sender.md), or, where it signs in a usual",
        'way, `sender = "generic"`. A source is opened in',
        "[five steps](../../howto/point-your-webhooks.md).",
        "",
        "| sender | what it is | window | delivery id | answer wanted within |",
        "|---|---|---|---|---|",
    ]
    for name in names:
        title, told = senders.page(name)
        label, _, what = title.rstrip(".").partition(": ")
        record = _record(name)
        offered = _markdown(_CLAUSE.split(told["Delivery id"])[0])
        lines.append(
            f"| [{label}]({name}.md) | {_markdown(what)} | {_window(name)} |"
            f" {offered} | {_seconds(record)} |"
        )
    return _joined(lines)


def _page(name: str) -> str:
    title, told = senders.page(name)
    label, _, what = title.rstrip(".").partition(": ")
    record = _record(name)
    lines = [
        f"# {label}",
        "",
        _MADE_FROM,
        "",
        _sentence(what),
        "",
        "## Set up",
        "",
        _sentence(told["Set up"]),
        "",
        "```toml",
        *_table(name, record),
        "```",
        "",
        *_secret(name, record),
        "## What holds",
        "",
        "| | |",
        "|---|---|",
    ]
    for heading in ("Signed", "Retries", "Success", "Delivery id"):
        lines.append(f"| {heading} | {_cell(told[heading])} |")
    lines.append(f"| Methods | {', '.join(record.methods)} |")
    lines += ["", "## Not protected", "", _sentence(told["Not protected"]), ""]
    lines += [*_facts(record), *_try_it(name)]
    return _joined(lines)


def _table(name: str, record: Sender) -> list[str]:
    lines = [f"[sources.{name}]"]
    address = f"https://hooks.example.com/webhooks/{name}"
    if name == "generic":
        lines[0] = "[sources.roastery]"
        return [
            *lines,
            'sender = "generic"',
            'algorithm = "sha256"',
            'signature_header = "X-Signature"',
            'id_from = "body:id"',
        ]
    if record.signs_url:
        lines.append(f'public_url = "{address}"    # exactly as entered there')
    if record.delivery_id is None:
        lines.append('identity = "body"    # or "request": it offers no delivery id')
    for option, meaning in record.options.items():
        value = '["..."]' if record.required.get(option) == "texts" else '"..."'
        mark = "" if option in record.required else "# "
        lines.append(f"{mark}{option} = {value}    # {meaning}")
    if record.gives_up_after_seconds <= 1:
        lines = ["[fleet]", "warm = 1    # it waits for one second", "", *lines]
    return lines


def _secret(name: str, record: Sender) -> list[str]:
    if not record.secret:
        return ["It has no secret: what proves it is fetched and checked.", ""]
    command = (
        f".venv/bin/bellhop secret set {'roastery' if name == 'generic' else name}"
    )
    signer = signers.Signer(name) if name in signers.names() else None
    if signer and signer.has_key_pair:
        who = "What is stored is the sender's public key: paste it."
    elif signer and signer.makes_secret:
        who = "The sender makes the secret up: paste what it shows."
    else:
        who = "You choose the secret: `--generate` makes one up and shows it once."
    walk = "To change it later, [rotate it](../../howto/rotate-a-secret.md)."
    return [f"Then `{command}`. {who}", walk, ""]


def _facts(record: Sender) -> list[str]:
    if not record.facts:
        return []
    rows = [f"| `{name}` | {_where(place)} |" for name, place in record.facts.items()]
    return [
        "## Facts",
        "",
        "What rules may match on; `facts` of the source adds more.",
        "",
        "| fact | from |",
        "|---|---|",
        *rows,
        "",
    ]


def _where(place: Place) -> str:
    match place:
        case str():
            return f"`{place}`"
        case Body():
            return f"`{place.path}`"
        case Header():
            return f"header `{place.name}`"
        case Query():
            return f"argument `{place.name}`"
    return "where that kind of event has it"


def _try_it(name: str) -> list[str]:
    if name not in signers.names() or name == "generic":
        return []
    events = samples.events(name)
    usual = signers.Signer(name).usual_event
    others = [f"`{event}`" for event in events if event != usual]
    lines = [
        "## Try it",
        "",
        "```",
        f".venv/bin/bellhop send {name} {usual} --local",
        "```",
        "",
    ]
    if others:
        lines += [f"Other samples: {', '.join(others)}.", ""]
    return lines


def _window(name: str) -> str:
    if name == "generic":
        return "as told"
    if name not in signers.names():
        told = _SPAN.search(senders.page(name)[1]["Signed"])
        return told[0] if told else "none"
    seconds = signers.Signer(name).window_seconds
    if seconds is None:
        return "none"
    return f"{seconds} s" if seconds < 3600 else f"{seconds // 3600} h"


def _seconds(record: Sender) -> str:
    return f"{json.dumps(record.gives_up_after_seconds)} s"


def _sentence(text: str) -> str:
    text = _markdown(text)
    if _WORD.match(text):
        text = text[:1].upper() + text[1:]
    return text if text.endswith(".") else f"{text}."


def _cell(text: str) -> str:
    return _sentence(text).replace("|", "\\|")


def _markdown(text: str) -> str:
    return text.replace("``", "`")


def _joined(lines: Iterable[str]) -> str:
    return "\n".join(lines).rstrip("\n") + "\n"


if __name__ == "__main__":
    print(f"{len(write())} pages in {FOLDER.relative_to(ROOT)}")
