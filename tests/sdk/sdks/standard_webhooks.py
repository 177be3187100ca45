"""The Standard Webhooks library."""

import datetime

import standardwebhooks.webhooks as library


def verify(case):
    class Still(datetime.datetime):
        @classmethod
        def now(cls, tz=None):
            return cls.fromtimestamp(case.now, tz)

    library.datetime = Still
    library.Webhook(case.secret).verify(case.body, dict(case.headers), json_parse=False)
    return True


def sign(case):
    moment = datetime.datetime.fromtimestamp(case.now, datetime.UTC)
    webhook = library.Webhook(case.secret)
    return {
        "webhook-id": "msg_1",
        "webhook-timestamp": str(int(case.now)),
        "webhook-signature": webhook.sign("msg_1", moment, case.text),
    }
