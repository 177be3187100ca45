"""Slack: events, slash commands and interactivity of an app.

Set up: api.slack.com/apps > Event Subscriptions, Slash Commands, Interactivity:
  the same address for all; the secret is the app's Signing Secret.
Signed: ``v0:``, X-Slack-Request-Timestamp, ``:`` and the raw body, HMAC-SHA256,
  hex after ``v0=``, X-Slack-Signature; 300 s.
Retries: events three times (at once, 1 min, 5 min); commands and interactivity
  never. An answer is wanted within 3 s.
Success: 2xx; commands and interactivity are answered with an empty body.
Delivery id: ``event_id`` of events, ``trigger_id`` of the others.
Not protected: nothing known; a replay within 300 s has the same id.
"""

from __future__ import annotations

from lambdas.receiver.request import FORM
from lambdas.receiver.senders import (
    BODY,
    TIME,
    Answer,
    Header,
    Hmac,
    Message,
    Request,
    Sender,
    Time,
    first,
    json_answer,
    walk,
)


def _kind(message: Message) -> object:
    if walk(message.data, "command"):
        return "command"
    return walk(message.data, "event.type") or walk(message.data, "type")


def _id(message: Message) -> object:
    if walk(message.data, "type") == "app_rate_limited":
        paths = ("team_id", "minute_rate_limited")
        return "rate-{}-{}".format(*(walk(message.data, path) for path in paths))
    # A closed view has no trigger; it closes once.
    return first("event_id", "trigger_id", "view.id")(message)


def _handshake(request: Request) -> Answer | None:
    if walk(request.data, "ssl_check"):
        return Answer()
    if walk(request.data, "type") != "url_verification":
        return None
    return json_answer({"challenge": walk(request.data, "challenge")})


def _success(request: Request) -> Answer | None:
    # Slack would show a body to the user, or complain about it.
    return Answer() if request.media_type == FORM else None


SENDER = Sender(
    proof=Hmac(
        signature=Header("x-slack-signature"),
        signed=(b"v0:", TIME, b":", BODY),
        prefix="v0=",
        time=Time(place=Header("x-slack-request-timestamp")),
    ),
    delivery_id=_id,
    kind=_kind,
    occurred_at="event_time",
    tenant=first("team_id", "team.id"),
    actor=first("event.user", "user_id", "user.id"),
    thread=first(
        "event.thread_ts", "event.ts", "message.thread_ts", "message.ts", "channel_id"
    ),
    facts={
        "channel": first("event.channel", "channel_id", "channel.id"),
        "command": "command",
        "subtype": "event.subtype",
        "bot": "event.bot_id",
        "callback": first("callback_id", "view.callback_id"),
        "app": "api_app_id",
    },
    reply=_handshake,
    success=_success,
    gives_up_after_seconds=3,
)
