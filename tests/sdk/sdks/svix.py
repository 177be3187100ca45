"""Svix's own library, which stands on that of Standard Webhooks."""

import datetime

import standardwebhooks.webhooks as inner
from svix.webhooks import Webhook


def verify(case):
    class Still(datetime.datetime):
        @classmethod
        def now(cls, tz=None):
            return cls.fromtimestamp(case.now, tz)

    inner.datetime = Still
    Webhook(case.secret).verify(case.body, dict(case.headers))
    return True


def sign(case):
    moment = datetime.datetime.fromtimestamp(case.now, datetime.UTC)
    return {
        "svix-id": "msg_1",
        "svix-timestamp": str(int(case.now)),
        "svix-signature": Webhook(case.secret).sign("msg_1", moment, case.text),
    }
