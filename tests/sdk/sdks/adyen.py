"""Adyen's own library."""

import json

from Adyen.util import (
    generate_payload_sig,
    is_valid_hmac_notification,
    is_valid_hmac_payload,
)


def verify(case):
    signature = case.headers.get("hmacsignature")
    if signature:
        return is_valid_hmac_payload(signature, case.secret, case.body)
    return is_valid_hmac_notification(json.loads(case.text), case.secret)


def sign(case):
    # The other way: the body as a whole, as the platform's are signed.
    signature = generate_payload_sig(case.body, case.secret)
    return {"hmacsignature": signature.decode()}
