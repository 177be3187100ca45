"""Square's own library."""

from square.utils.webhooks_helper import verify_signature


def verify(case):
    return verify_signature(
        request_body=case.text,
        signature_header=case.headers["x-square-hmacsha256-signature"],
        signature_key=case.secret,
        notification_url=case.url,
    )
