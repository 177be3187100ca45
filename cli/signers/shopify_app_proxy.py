"""Shopify app proxy: HMAC over the sorted query, joined by nothing."""

from __future__ import annotations

from urllib.parse import parse_qs, urlencode

from cli.signers.draft import Delivery, Draft

COVERS_BODY = False
SECRET_IS_MADE_BY_SENDER = True


def sign(draft: Draft) -> Delivery:
    """Sign the sample's fields, and send them as the query of a GET."""
    fields = parse_qs(draft.body.decode(), keep_blank_values=True)
    fields.pop("signature", None)
    joined = "".join(sorted(f"{name}={','.join(v)}" for name, v in fields.items()))
    pairs = [(name, value) for name, values in fields.items() for value in values]
    query = urlencode([*pairs, ("signature", draft.hex(joined))])
    return Delivery(headers={}, body=b"", method="GET", query=query)
