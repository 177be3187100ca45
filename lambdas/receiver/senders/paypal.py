"""PayPal: webhooks of a REST app.

Set up: Developer Dashboard > the app > Webhooks; ``webhook_id`` in the source's
  table is the webhook's ID shown there.
Signed: PAYPAL-TRANSMISSION-ID, -TIME, the webhook id and the body's CRC-32 in
  decimal, joined by ``|``, RSA over SHA-256, base64, PAYPAL-TRANSMISSION-SIG, by
  the certificate at PAYPAL-CERT-URL, which must be PayPal's own; 3 days.
Retries: 25 over 3 days; answer soon.
Success: any 2xx.
Delivery id: ``id`` of the event.
Not protected: a CRC-32 is no hash: who captured a request can, within 3 days,
  send another body of the same CRC. Look the event up at PayPal before acting.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Sequence
from datetime import datetime

from lambdas.receiver.public_keys import check_rsa, key_of_certificate
from lambdas.receiver.schemes import Alone, as_text
from lambdas.receiver.senders import Request, Sender, Time
from lambdas.shared.errors import Code, Rejected
from lambdas.shared.fetch import pin

_DAYS_3 = 3 * 86_400
_CERTIFICATE = pin(
    r"api(-m)?(\.sandbox)?\.paypal\.com",
    r"/v1/notifications/certs/CERT-[0-9a-f]{4,32}(-[0-9a-f]{4,32}){1,3}",
)
_OWNER = re.compile(r"messageverificationcerts(\.sandbox)?\.paypal\.com")
_TIME = Time(unit="rfc3339", tolerance_seconds=_DAYS_3)


class _Proof(Alone):
    """PayPal's own; see the module."""

    def verify(self, request: Request, secrets: Sequence[str], now: datetime) -> int:  # noqa: ARG002 - a certificate is fetched
        """See :meth:`lambdas.receiver.schemes.Proof.verify`."""
        webhook_id = request.source.options["webhook_id"]
        signature, sent, number = (
            request.header(f"paypal-transmission-{name}")
            for name in ("sig", "time", "id")
        )
        if not signature or "|" in sent + number:
            raise Rejected(Code.BAD_SIGNATURE, "there is no signature")
        if request.header("paypal-auth-algo") != "SHA256withRSA":
            raise Rejected(Code.BAD_SIGNATURE, "another algorithm")
        url = request.header("paypal-cert-url")
        key = key_of_certificate(request, url, _CERTIFICATE, now, _OWNER)
        checksum = zlib.crc32(request.body)
        signed = as_text(f"{number}|{sent}|{webhook_id}|{checksum}")
        check_rsa(key, signature, signed, "sha256")
        _TIME.check(sent, request, now)
        return 0


SENDER = Sender(
    proof=_Proof(),
    delivery_id="id",
    kind="event_type",
    occurred_at="create_time",
    thread="resource.id",
    facts={
        "resource": "resource_type",
        "state": "resource.state",
        "status": "resource.status",
        "total": "resource.amount.total",
    },
    headers=("paypal-transmission-id",),
    secret=False,
    signs_id=False,
    needs="senders",
    options={"webhook_id": "the webhook's ID at PayPal"},
    required={"webhook_id": "text"},
)
