"""Generic: a sender without a module, described by its source's own keys.

Set up: at the sender; in ``fleet.toml`` algorithm (sha256, sha1, sha512, token,
  basic), signature_header, prefix, encoding, signed, timestamp_header, id_from,
  kind_from and tenant_from of ``[sources.NAME]``.
Signed: what ``signed`` says, by default the raw body; the header may hold
  several signatures, joined by commas; with a timestamp_header 300 s.
Retries: as the sender has them.
Success: any 2xx.
Delivery id: where ``id_from`` says.
Not protected: whatever ``signed`` leaves out; a token or Basic signs nothing. Of
  what stands side by side in ``signed``, a request that could be read in two ways
  (an id that holds the separator, a body that goes on a time's digits) is refused.
"""

from __future__ import annotations

import re

from lambdas.receiver.places import Place
from lambdas.receiver.seams import parts
from lambdas.receiver.senders import (
    Basic,
    Body,
    Header,
    Hmac,
    Proof,
    Sender,
    Time,
    Token,
)
from lambdas.shared.errors import Misconfigured
from lambdas.shared.fleet import Generic, Pick, Source

_WORD = re.compile(r"(\{(?:body|timestamp|id)\})")

SENDER = Sender(
    proof=Hmac(signature=Header("x-signature")),
    delivery_id=None,
    kind=lambda _: "received",
    body="any",
)


def sender(source: Source) -> Sender:
    """Return the sender that the source's table describes."""
    how = source.generic
    if how is None:
        raise Misconfigured(f"source {source.name}: no keys of the generic sender")
    return Sender(
        proof=_proof(how),
        delivery_id=_place(how.id_from),
        kind=_place(how.kind_from) or SENDER.kind,
        tenant=_place(how.tenant_from),
        body="any",
        signs_id="{id}" in how.signed,
    )


def _place(pick: Pick | None) -> Place | None:
    if pick is None:
        return None
    places: dict[str, Place] = {
        "header": Header(pick.name.lower()),
        "body": Body(pick.name),
        "text": lambda _: pick.name,
    }
    return places[pick.where]


def _proof(how: Generic) -> Proof:
    place = Header(how.signature_header.lower())
    if how.algorithm == "token":
        return Token(place=place, prefix=how.prefix)
    if how.algorithm == "basic":
        return Basic()
    stamp = how.timestamp_header
    signed = parts(
        [word for word in _WORD.split(how.signed) if word],
        id_header=how.id_from.name if how.id_from else "",
        time_header=stamp or "",
    )
    return Hmac(
        signature=place,
        signed=tuple(signed),
        prefix=how.prefix,
        # A prefix like "v1," needs the comma for itself.
        separator=" " if "," in how.prefix else ",",
        loose=True,
        algorithm=how.algorithm,
        encoding=how.encoding,
        any_case=how.encoding == "hex",
        time=Time(place=Header(stamp.lower()), unit=None) if stamp else None,
    )
