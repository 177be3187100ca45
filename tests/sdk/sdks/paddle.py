"""Paddle's own library; it only verifies."""

import sys

from paddle_billing.Notifications import Secret, Verifier


class Request:
    def __init__(self, case):
        self.body = case.body
        self.headers = {"Paddle-Signature": case.headers.get("paddle-signature")}


def verify(case):
    # The module and its class share a name, and the class hides it.
    sys.modules[Verifier.__module__].time = lambda: case.now
    return Verifier().verify(Request(case), Secret(case.secret))
