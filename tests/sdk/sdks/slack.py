"""Slack's own library."""

from slack_sdk.signature import Clock, SignatureVerifier


def _verifier(case):
    clock = Clock()
    clock.now = lambda: case.now
    return SignatureVerifier(case.secret, clock)


def verify(case):
    return _verifier(case).is_valid_request(case.body, case.headers)


def sign(case):
    stamp = str(int(case.now))
    signature = _verifier(case).generate_signature(timestamp=stamp, body=case.body)
    return {"x-slack-request-timestamp": stamp, "x-slack-signature": signature}
