"""Anthropic's own library; it only verifies, by that of Standard Webhooks."""

import datetime

import standardwebhooks.webhooks as inner
from anthropic import Anthropic


def verify(case):
    class Still(datetime.datetime):
        @classmethod
        def now(cls, tz=None):
            return cls.fromtimestamp(case.now, tz)

    inner.datetime = Still
    webhooks = Anthropic(api_key="unused").beta.webhooks
    webhooks.unwrap(case.text, headers=dict(case.headers), key=case.secret)
    return True
