"""Typeform: responses to a form.

Set up: the form > Connect > Webhooks > Add a webhook, with a secret.
Signed: the raw body, HMAC-SHA256, base64 after ``sha256=``, Typeform-Signature.
Retries: for hours, backing off; an answer is wanted within 30 s.
Success: any 2xx.
Delivery id: ``event_id``, which is signed.
Not protected: no time is signed: a captured body can be sent again, to no
  effect while the ledger remembers its id.
"""

from __future__ import annotations

from lambdas.receiver.senders import Header, Hmac, Sender

SENDER = Sender(
    proof=Hmac(
        signature=Header("typeform-signature"), prefix="sha256=", encoding="base64"
    ),
    delivery_id="event_id",
    kind="event_type",
    occurred_at="form_response.submitted_at",
    thread="form_response.token",
    facts={"form": "form_response.form_id"},
    gives_up_after_seconds=30,
)
