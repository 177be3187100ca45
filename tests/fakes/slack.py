"""Slack's Web API as effects use it: honours no key, keeps a message's metadata."""

from __future__ import annotations

import itertools
import time
from typing import Any

from tests.fakes.services import Reply, Request


class FakeSlack:
    """Channels of messages. History knows channels by id only, newest first."""

    def __init__(self, token: str) -> None:
        self.token = token
        self.messages: list[dict[str, Any]] = []
        self.largest_page = 200
        self._numbers = itertools.count(1)

    def __call__(self, request: Request) -> Reply:
        if request.headers.get("authorization") != f"Bearer {self.token}":
            return _refused("invalid_auth")
        method = request.path.removeprefix("/api/")
        if method == "chat.postMessage":
            return self._post(request.document)
        if method == "chat.update":
            return self._update(request.document)
        return self._list(method, request.query)

    def add(self, channel: str, text: str, **more: Any) -> dict[str, Any]:
        """Post a message, as anybody in the channel might."""
        ts = f"{time.time():.0f}.{next(self._numbers):06d}"
        message = {"channel": channel, "text": text, "ts": ts, **more}
        self.messages.append(message)
        return message

    def _post(self, document: dict[str, Any]) -> Reply:
        more = {k: v for k, v in document.items() if k not in {"channel", "text"}}
        channel = "C024BE91L" if document["channel"] == "#ops" else document["channel"]
        message = self.add(channel, document["text"], **more)
        return Reply.of({"ok": True, "channel": channel, "ts": message["ts"]})

    def _update(self, document: dict[str, Any]) -> Reply:
        for message in self.messages:
            if message["ts"] == document["ts"]:
                message.update(document)
                return Reply.of({"ok": True, "ts": document["ts"]})
        return _refused("message_not_found")

    def _list(self, method: str, query: dict[str, str]) -> Reply:
        if not query["channel"].startswith("C"):
            return _refused("channel_not_found")
        thread = query.get("ts") if method == "conversations.replies" else None
        found = [
            {k: v for k, v in message.items() if k != "metadata" or _wanted(query)}
            for message in self.messages
            if message["channel"] == query["channel"]
            and message["ts"] > query.get("oldest", "")
            and message.get("thread_ts") == thread
        ]
        if thread is None:
            found.reverse()
        start = int(query.get("cursor", 0))
        end = start + min(int(query["limit"]), self.largest_page)
        more = str(end) if end < len(found) else ""
        return Reply.of(
            {
                "ok": True,
                "messages": found[start:end],
                "response_metadata": {"next_cursor": more},
            }
        )


def _wanted(query: dict[str, str]) -> bool:
    return query.get("include_all_metadata") == "true"


def _refused(error: str) -> Reply:
    return Reply.of({"ok": False, "error": error})
