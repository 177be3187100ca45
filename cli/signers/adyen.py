"""Adyen: the key is hex. Payments sign eight fields each, platforms the body."""

from __future__ import annotations

import base64
import json
from typing import Any

from cli.signers.draft import Delivery, Draft

# Of a payment only eight fields are signed.
COVERS_BODY = False
SECRET_IS_MADE_BY_SENDER = True


def sign(draft: Draft) -> Delivery:
    """Sign each payment notification, or the whole body of a platform one."""
    key = bytes.fromhex(draft.secret)
    payload = draft.payload
    if "notificationItems" not in payload:
        mac = base64.b64encode(draft.mac(draft.body, key=key)).decode()
        return draft.send({"HmacSignature": mac, "Protocol": "HmacSHA256"})
    for wrapper in payload["notificationItems"]:
        item = wrapper["NotificationRequestItem"]
        mac = base64.b64encode(draft.mac(_signed(item), key=key)).decode()
        item.setdefault("additionalData", {})["hmacSignature"] = mac
    return draft.send({}, body=json.dumps(payload).encode())


def _signed(item: dict[str, Any]) -> str:
    amount = item.get("amount") or {}
    fields = (
        item.get("pspReference"),
        item.get("originalReference"),
        item.get("merchantAccountCode"),
        item.get("merchantReference"),
        amount.get("value"),
        amount.get("currency"),
        item.get("eventCode"),
        item.get("success"),
    )
    return ":".join("" if field is None else str(field) for field in fields)
