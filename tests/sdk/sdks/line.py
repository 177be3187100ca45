"""LINE's own library; it only verifies."""

from linebot.v3.webhook import SignatureValidator


def verify(case):
    signature = case.headers.get("x-line-signature", "")
    return SignatureValidator(case.secret).validate(case.text, signature)
