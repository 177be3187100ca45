"""A sender without a module: signs as the source's own table says."""

from __future__ import annotations

import base64

from cli.signers.draft import Delivery, Draft


def sign(draft: Draft) -> Delivery:
    """Sign as the ``generic`` keys of the source's table say."""
    how = draft.options
    told = {}
    if stamp := how.get("timestamp_header"):
        told[stamp] = draft.seconds
    id_from = how.get("id_from") or {}
    if id_from.get("where") == "header":
        told[id_from["name"]] = draft.id
    prefix = how.get("prefix") or ""
    return draft.send({**told, how["signature_header"]: prefix + _proof(draft)})


def _proof(draft: Draft) -> str:
    how = draft.options
    match how["algorithm"]:
        case "token":
            return draft.secret
        case "basic":
            return "Basic " + base64.b64encode(draft.secret.encode()).decode()
    signed = how.get("signed", "{body}").encode()
    for name, value in (
        (b"{timestamp}", draft.seconds.encode()),
        (b"{id}", draft.id.encode()),
        (b"{body}", draft.body),
    ):
        signed = signed.replace(name, value)
    if how.get("encoding") == "base64":
        return draft.base64(signed, algorithm=how["algorithm"])
    return draft.hex(signed, algorithm=how["algorithm"])
