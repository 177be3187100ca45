"""Supabase: auth hooks of a project, as notifications.

Set up: Authentication > Hooks > Add a hook > HTTPS; the secret is its secret
  (``v1,whsec_...``), the whole of it.
Signed: as Standard Webhooks.
Retries: three within seconds, on 429 and 503; an answer is wanted within 5 s.
Success: 200 with an empty JSON object: the hook agrees and changes nothing.
Delivery id: webhook-id, which is signed.
Not protected: nothing known.
"""

from __future__ import annotations

from lambdas.receiver.places import Message
from lambdas.receiver.senders import Header, Sender, as_whsec, json_answer, walk
from lambdas.receiver.senders.standard_webhooks import proof


def _kind(message: Message) -> str:
    # The body does not name its hook.
    marks = {"email_data": "send_email", "sms": "send_sms", "claims": "access_token"}
    found = (kind for mark, kind in marks.items() if walk(message.data, mark))
    return next(found, "hook")


SENDER = Sender(
    proof=proof(key=lambda secret: as_whsec(secret.removeprefix("v1,"))),
    delivery_id=Header("webhook-id"),
    kind=_kind,
    actor="user.id",
    thread="user.id",
    facts={"action": "email_data.email_action_type"},
    success=lambda _: json_answer({}),
    gives_up_after_seconds=5,
)
