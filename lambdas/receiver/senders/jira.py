"""Jira: webhooks of a Jira Cloud or Data Center site.

Set up: System > WebHooks > Create a WebHook, with a secret.
Signed: the raw body, HMAC-SHA256, hex after ``sha256=``, X-Hub-Signature.
Retries: five within hours, on 408, 409, 425, 429, 5xx and time-outs; an answer
  is wanted within 30 s.
Success: any 2xx.
Delivery id: X-Atlassian-Webhook-Identifier.
Not protected: neither a time nor the delivery id is signed: a captured body can
  be replayed under a new id; ``identity = "body"`` closes that.
"""

from __future__ import annotations

from lambdas.receiver.places import Message
from lambdas.receiver.senders import Header, Hmac, Sender, walk


def _kind(message: Message) -> str | None:
    kind = walk(message.data, "webhookEvent")
    return kind.removeprefix("jira:") if isinstance(kind, str) else None


SENDER = Sender(
    proof=Hmac(signature=Header("x-hub-signature"), prefix="sha256="),
    delivery_id=Header("x-atlassian-webhook-identifier"),
    kind=_kind,
    occurred_at="timestamp",
    actor="user.accountId",
    thread="issue.key",
    facts={
        "project": "issue.fields.project.key",
        "type": "issue.fields.issuetype.name",
        "status": "issue.fields.status.name",
        "priority": "issue.fields.priority.name",
        "change": "issue_event_type_name",
    },
    gives_up_after_seconds=30,
    signs_id=False,
)
