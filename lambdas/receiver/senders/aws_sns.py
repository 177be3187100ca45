"""AWS SNS: notifications of topics, by HTTPS subscription.

Set up: subscribe the source's address to the topic (raw message delivery off);
  ``topics`` in the source's table lists the ARNs that may speak. The subscription
  is confirmed by itself.
Signed: the names and values of Message, MessageId, Subject (where there is one),
  Timestamp, TopicArn and Type, RSA over SHA-1 (SignatureVersion 1) or SHA-256 (2),
  by the certificate at SigningCertURL, which must be SNS's own; 1 day.
Retries: 50 over 6 h; an answer is wanted within 15 s.
Success: any 2xx.
Delivery id: MessageId, which is signed.
Not protected: SHA-1 is weak: give the topic SignatureVersion 2.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import datetime
from typing import Any, Literal
from urllib.parse import parse_qs, urlsplit

from lambdas.receiver.public_keys import check_rsa, key_of_certificate
from lambdas.receiver.schemes import Alone, as_text
from lambdas.receiver.senders import Answer, Request, Sender, Time, json_answer, walk
from lambdas.shared.errors import Code, Rejected
from lambdas.shared.fetch import NotServed, Pin, pin

_CERTIFICATE = r"/SimpleNotificationService-[0-9a-f]{32}\.pem"
_CONFIRM = r"/\?Action=ConfirmSubscription&[\x21-\x7e]{1,1024}"
_OWNER = re.compile(r"sns(\.[a-z0-9-]+)?\.amazonaws\.com(\.cn)?")

_DIGESTS: dict[str, Literal["sha1", "sha256"]] = {"1": "sha1", "2": "sha256"}
_SUBSCRIPTION = ("Message", "MessageId", "SubscribeURL", "Timestamp", "Token")
_SIGNED = {
    "Notification": ("Message", "MessageId", "Subject", "Timestamp"),
    "SubscriptionConfirmation": _SUBSCRIPTION,
    "UnsubscribeConfirmation": _SUBSCRIPTION,
}
_TIME = Time(place="Timestamp", unit="rfc3339", tolerance_seconds=86_400)


class _Proof(Alone):
    """SNS's own; see the module."""

    def verify(self, request: Request, secrets: Sequence[str], now: datetime) -> int:  # noqa: ARG002 - a certificate is fetched
        """See :meth:`lambdas.receiver.schemes.Proof.verify`."""
        data = request.data
        topic = _text(data, "TopicArn")
        if topic not in request.source.options["topics"]:
            raise Rejected(Code.BAD_SIGNATURE, f"not one of our topics: {topic[:128]}")
        digest = _DIGESTS.get(_text(data, "SignatureVersion"))
        if digest is None:
            raise Rejected(Code.BAD_SIGNATURE, "an unknown SignatureVersion")
        signature, signed = _text(data, "Signature"), _signed(data)
        url, allowed = _text(data, "SigningCertURL"), _pin(topic, _CERTIFICATE)
        key = key_of_certificate(request, url, allowed, now, _OWNER)
        check_rsa(key, signature, signed, digest)
        _TIME.check(_text(data, "Timestamp"), request, now)
        return 0


def _pin(topic: str, path: str) -> Pin:
    """Allow SNS's address in the topic's own region: made-up regions are many."""
    region = re.escape("".join(topic.split(":")[3:4]))
    return pin(rf"sns\.{region}\.amazonaws\.com(\.cn)?", path)


def _text(data: Any, name: str) -> str:
    found = data.get(name) if isinstance(data, dict) else None
    # Lines separate what is signed: only a message's own words may hold them.
    if not isinstance(found, str) or (name != "Message" and "\n" in found):
        raise Rejected(Code.BAD_SIGNATURE, f"{name} is missing, or of several lines")
    return found


def _signed(data: Any) -> bytes:
    names = _SIGNED.get(_text(data, "Type"))
    if names is None:
        raise Rejected(Code.BAD_SIGNATURE, "an unknown Type")
    lines = [
        f"{name}\n{_text(data, name)}\n"
        for name in (*names, "TopicArn", "Type")
        if name != "Subject" or data.get("Subject") is not None
    ]
    return as_text("".join(lines))


def _confirm(request: Request) -> Answer | None:
    data = request.data
    if walk(data, "Type") != "SubscriptionConfirmation":
        return None
    url, topic = _text(data, "SubscribeURL"), _text(data, "TopicArn")
    if parse_qs(urlsplit(url).query).get("TopicArn") != [topic]:
        raise Rejected(Code.MALFORMED, "SubscribeURL is for another topic")
    try:
        # Remembered like all that is fetched: SNS's repeats confirm nothing twice.
        request.fetch(url, _pin(topic, _CONFIRM))
    except NotServed as error:
        raise Rejected(Code.MALFORMED, f"SubscribeURL: {error}") from error
    return json_answer({"confirmed": topic})


SENDER = Sender(
    proof=_Proof(),
    delivery_id="MessageId",
    kind="Type",
    occurred_at="Timestamp",
    tenant=lambda message: str(walk(message.data, "TopicArn")).split(":")[4],
    thread="TopicArn",
    facts={"topic": "TopicArn", "subject": "Subject"},
    reply=_confirm,
    gives_up_after_seconds=15,
    secret=False,
    needs="senders",
    options={"topics": "the ARNs of the topics that may speak"},
    required={"topics": "texts"},
)
