"""Shopify app proxy: a shopper's browser calls an app through the shop.

Set up: the app > App proxy; the secret is the app's client secret.
Signed: the query without ``signature``, decoded, sorted, joined without a mark,
  HMAC-SHA256, hex, ``signature`` of the query. A body is not: it is refused.
Retries: none: it is the shopper's browser.
Success: what is answered is shown; an app that must answer something of its own
  needs a server of its own.
Delivery id: ``signature``, which is one with the query, its time included.
Not protected: no window is signed; pairs are joined without marks.
"""

from __future__ import annotations

from lambdas.receiver.addresses import sorted_query
from lambdas.receiver.senders import Hmac, Query, Sender

SENDER = Sender(
    proof=Hmac(
        signature=Query("signature"), signed=(sorted_query("signature", joint=""),)
    ),
    delivery_id=Query("signature"),
    kind=lambda _: "requested",
    occurred_at=Query("timestamp"),
    tenant=Query("shop"),
    actor=Query("logged_in_customer_id"),
    facts={"shop": Query("shop"), "path": Query("path_prefix")},
    methods=("GET",),
    body="any",
    retries=False,
)
