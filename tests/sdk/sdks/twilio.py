"""Twilio's own library."""

from urllib.parse import parse_qsl

from twilio.request_validator import RequestValidator

_FORM = "application/x-www-form-urlencoded"


class _Fields(dict):
    """A form as web frameworks hand it over."""

    def __init__(self, text):
        self.pairs = parse_qsl(text, keep_blank_values=True)
        super().__init__(self.pairs)

    def getlist(self, name):
        return [value for found, value in self.pairs if found == name]


def verify(case):
    signature = case.headers["x-twilio-signature"]
    said = _said(case)
    return RequestValidator(case.secret).validate(case.url, said, signature)


def sign(case):
    said = _said(case)
    assert not isinstance(said, str)
    signature = RequestValidator(case.secret).compute_signature(case.url, said)
    return {"x-twilio-signature": signature}


def _said(case):
    is_form = case.headers.get("content-type") == _FORM
    return _Fields(case.text) if is_form else case.text
