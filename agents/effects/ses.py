"""Effects by Amazon SES: a mail.

SES honours no idempotency key and cannot be asked what it sent, so a mail in
doubt is not sent again: the run is DEAD until an operator settles it. The mail
carries its operation id in the header ``X-Bellhop-Operation`` and, for SES's
own event publishing, in the tag ``bellhop-operation``.

Rules of the service, from docs.aws.amazon.com/ses: ``SendEmail`` (API v2).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from lambdas.shared.adapters import aws
from lambdas.shared.adapters.effects import outcome


def mail(
    to: str | Sequence[str],
    subject: str,
    text: str,
    *,
    sender: str,
    html: str | None = None,
    reply_to: str | None = None,
    configuration_set: str | None = None,
    operation_id: str,
) -> dict[str, Any]:
    """Send a mail from the verified address ``sender``; return its ``id``.

    Not repeatable. The agent's ``allow`` must grant ``ses:SendEmail`` on the
    identity of ``sender``; a refused recipient, sender or size gives up.
    """
    body = {"Text": {"Data": text, "Charset": "UTF-8"}}
    if html is not None:
        body["Html"] = {"Data": html, "Charset": "UTF-8"}
    request: dict[str, Any] = {
        "FromEmailAddress": sender,
        "Destination": {"ToAddresses": [to] if isinstance(to, str) else list(to)},
        "Content": {
            "Simple": {
                "Subject": {"Data": subject, "Charset": "UTF-8"},
                "Body": body,
                "Headers": [{"Name": "X-Bellhop-Operation", "Value": operation_id}],
            }
        },
        "EmailTags": [{"Name": "bellhop-operation", "Value": operation_id}],
    }
    if reply_to:
        request["ReplyToAddresses"] = [reply_to]
    if configuration_set:
        request["ConfigurationSetName"] = configuration_set
    with outcome("ses"):
        sent = aws.once("sesv2").send_email(**request)
    return {"id": sent["MessageId"]}
