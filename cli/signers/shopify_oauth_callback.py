"""Shopify OAuth callback: HMAC over the sorted query; there is no body."""

from __future__ import annotations

from urllib.parse import parse_qsl, urlencode

from cli.signers.draft import Delivery, Draft

COVERS_BODY = False
SECRET_IS_MADE_BY_SENDER = True


def sign(draft: Draft) -> Delivery:
    """Sign the sample's fields, and send them as the query of a GET."""
    fields = parse_qsl(draft.body.decode(), keep_blank_values=True)
    unsigned = ("hmac", "signature")
    fields = [(name, value) for name, value in fields if name not in unsigned]
    joined = "&".join(sorted(f"{name}={value}" for name, value in fields))
    query = urlencode([*fields, ("hmac", draft.hex(joined))])
    return Delivery(headers={}, body=b"", method="GET", query=query)
