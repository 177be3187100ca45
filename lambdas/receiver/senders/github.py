"""GitHub: webhooks of repositories, organisations and apps.

Set up: Settings > Webhooks > Add webhook; either content type; the secret is
  the source's.
Signed: the raw body, HMAC-SHA256, hex after ``sha256=``, X-Hub-Signature-256.
Retries: none, ever. Redeliver by hand or by API: the id stays the same. An
  answer is wanted within 10 s.
Success: any 2xx.
Delivery id: X-GitHub-Delivery.
Not protected: neither a time nor the delivery id is signed, so a captured body
  can be replayed under a new id, and as another kind (X-GitHub-Event);
  ``identity = "body"`` closes that.
"""

from __future__ import annotations

from collections.abc import Callable

from lambdas.receiver.places import Message
from lambdas.receiver.senders import Header, Hmac, Sender, walk


def kind_by(event_header: str) -> Callable[[Message], str | None]:
    """Return what reads the kind: the event in a header, and the body's action."""
    event_of = Header(event_header)

    def kind(message: Message) -> str | None:
        event, action = event_of(message), walk(message.data, "action")
        return f"{event}.{action}" if event and isinstance(action, str) else event

    return kind


def thread(message: Message) -> str | None:
    """Return the issue, pull request or discussion that the event is about."""
    repository = walk(message.data, "repository.full_name")
    for path in ("number", "issue.number", "pull_request.number", "discussion.number"):
        number = walk(message.data, path)
        if repository and number is not None:
            return f"{repository}#{number}"
    return None


SENDER = Sender(
    proof=Hmac(signature=Header("x-hub-signature-256"), prefix="sha256="),
    delivery_id=Header("x-github-delivery"),
    kind=kind_by("x-github-event"),
    tenant="organization.login",
    actor="sender.login",
    thread=thread,
    facts={
        "action": "action",
        "repository": "repository.full_name",
        "ref": "ref",
        "label": "label.name",
        "author": "issue.user.login",
        "branch": "pull_request.base.ref",
        "conclusion": "check_run.conclusion",
    },
    headers=("x-github-event", "x-github-hook-id"),
    retries=False,
    signs_id=False,
)
