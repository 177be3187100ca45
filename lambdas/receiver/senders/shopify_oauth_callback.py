"""Shopify OAuth callback: a merchant has installed an app, or said yes anew.

Set up: the app's allowed redirection address; the secret is the app's client
  secret. An agent exchanges ``code`` of the payload for a token within a minute.
Signed: the query without ``hmac`` and ``signature``, decoded, sorted, joined by
  ``&``, HMAC-SHA256, hex, ``hmac`` of the query.
Retries: none: it is the merchant's browser.
Success: the browser shows what is answered.
Delivery id: ``hmac``, which is one with the query.
Not protected: ``state`` is yours to compare; no window is signed.
"""

from __future__ import annotations

from lambdas.receiver.addresses import sorted_query
from lambdas.receiver.senders import Answer, Hmac, Query, Sender

SENDER = Sender(
    proof=Hmac(
        signature=Query("hmac"),
        signed=(sorted_query("hmac", "signature", joint="&"),),
    ),
    delivery_id=Query("hmac"),
    kind=lambda _: "authorized",
    occurred_at=Query("timestamp"),
    tenant=Query("shop"),
    facts={"shop": Query("shop")},
    methods=("GET",),
    body="any",
    success=lambda _: Answer(body="Thank you. You may close this page."),
    retries=False,
)
