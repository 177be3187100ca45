"""Where we judge otherwise than a sender's own library, each with its reason.

A difference that is not written here fails the test; so does one that is gone.
"""

from __future__ import annotations

_LENIENT = "its decoder overlooks what follows the padding; nobody signs so"
_CLOCKS = "clocks differ, its own takes no time from the future; 600 s on both sides"

# (sender, what was changed) -> why we are right to differ.
DIFFERENCES: dict[tuple[str, str], str] = {
    ("anthropic", "webhook-signature longer"): _LENIENT,
    ("box", "time +599"): _CLOCKS,
    ("box", "time +600"): _CLOCKS,
    ("hubspot", "time -300"): "exactly 300 s is still valid",
    (
        "hubspot",
        "time +301",
    ): "its check is one-sided: a future time keeps for a replay",
    ("sendgrid", "x-twilio-email-event-webhook-signature longer"): _LENIENT,
    ("sendgrid", "x-twilio-email-event-webhook-signature twice, by comma"): _LENIENT,
    ("standard-webhooks", "webhook-signature longer"): _LENIENT,
    ("stripe", "stripe-signature twice, by comma"): "two times are no time",
    ("stripe", "time +301"): "its check is one-sided: a future time keeps for a replay",
    ("svix", "svix-signature longer"): _LENIENT,
}
