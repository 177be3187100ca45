"""SendGrid's own library."""

from sendgrid.helpers.eventwebhook import EventWebhook


def verify(case):
    return EventWebhook(case.secret).verify_signature(
        case.text,
        case.headers["x-twilio-email-event-webhook-signature"],
        case.headers["x-twilio-email-event-webhook-timestamp"],
    )
