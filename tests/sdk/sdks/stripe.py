"""Stripe's own library."""

import time

from stripe import WebhookSignature


def verify(case):
    time.time = lambda: case.now
    signature = case.headers.get("stripe-signature", "")
    return WebhookSignature.verify_header(case.text, signature, case.secret, 300)


def sign(case):
    stamp = int(case.now)
    digest = WebhookSignature._compute_signature(f"{stamp}.{case.text}", case.secret)
    return {"stripe-signature": f"t={stamp},v1={digest}"}
