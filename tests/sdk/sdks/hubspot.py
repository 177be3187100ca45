"""HubSpot's own library, version 3 of its signatures."""

import datetime

from hubspot.utils import signature as library


def verify(case):
    _at(case.now)
    return library.Signature.is_valid(
        signature=case.headers["x-hubspot-signature-v3"],
        client_secret=case.secret,
        request_body=case.text,
        http_uri=case.url,
        http_method=case.method,
        signature_version="v3",
        timestamp=case.headers["x-hubspot-request-timestamp"],
    )


def sign(case):
    stamp = str(int(case.now * 1000))
    signature = library.Signature.get_signature(
        case.secret, case.text, "v3", case.url, case.method, stamp
    )
    return {
        "x-hubspot-signature-v3": signature,
        "x-hubspot-request-timestamp": stamp,
    }


def _at(now):
    """Let the library's clock stand at ``now``."""

    class Clock(datetime.datetime):
        @classmethod
        def now(cls, tz=None):
            return cls.fromtimestamp(now, tz)

    library.datetime = Clock
