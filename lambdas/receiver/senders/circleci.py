"""CircleCI: outbound webhooks of a project.

Set up: Project Settings > Webhooks > Add Webhook, with a secret token.
Signed: the raw body, HMAC-SHA256, hex, each ``v1=`` of circleci-signature.
Retries: several; an answer is wanted within 5 s.
Success: any 2xx.
Delivery id: ``id`` of the event, which is signed.
Not protected: no time is signed: a captured body can be sent again, to no
  effect while the ledger remembers its id.
"""

from __future__ import annotations

from lambdas.receiver.senders import Header, Hmac, Sender

SENDER = Sender(
    proof=Hmac(signature=Header("circleci-signature"), prefix="v1=", separator=","),
    delivery_id="id",
    kind="type",
    occurred_at="happened_at",
    tenant="organization.name",
    thread="pipeline.id",
    facts={
        "project": "project.slug",
        "workflow": "workflow.name",
        "status": "workflow.status",
        "job": "job.name",
        "job_status": "job.status",
        "branch": "pipeline.vcs.branch",
    },
    gives_up_after_seconds=5,
)
