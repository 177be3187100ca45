"""The digest of a deployment, put together over AWS."""

from __future__ import annotations

import time
from collections.abc import Mapping

from lambdas.dlq_digest.digest import Morning, Reader
from lambdas.dlq_digest.letters import OTHER_QUEUES, Letterbox, Raw
from lambdas.dlq_digest.reconcile import Reconciler
from lambdas.dlq_digest.report import Links
from lambdas.dlq_digest.tell import Answer, Slack, Teller
from lambdas.shared import clock
from lambdas.shared.adapters import dynamodb, post
from lambdas.shared.adapters.lambda_logs import LambdaLogs
from lambdas.shared.adapters.letterbox import SqsLetterbox, attributes_of
from lambdas.shared.adapters.secretsmanager import SecretsManager
from lambdas.shared.adapters.topic import SnsMail
from lambdas.shared.fleet import Digest, Fleet
from lambdas.shared.settings import DigestSettings


class Box(SqsLetterbox):
    """A :class:`lambdas.dlq_digest.letters.Letterbox`."""

    def receive(self, hide_seconds: int) -> list[Raw]:
        """See the port."""
        return [
            Raw(
                id=message["MessageId"],
                body=message["Body"],
                sent_ms=int(message["Attributes"]["SentTimestamp"]),
                receipt=message["ReceiptHandle"],
                attributes=attributes_of(message),
            )
            for message in self.receive_some(hide_seconds)
        ]


def morning(settings: DigestSettings, fleet: Fleet) -> Morning:
    """Return the digest over the things that ``settings`` name; nothing is called."""
    digest = fleet.digest or Digest()
    table = dynamodb.table(settings)
    urls = settings.queues_of([*fleet.agents, *OTHER_QUEUES])
    boxes: Mapping[str, Letterbox] = {name: Box(url) for name, url in urls.items()}
    secrets = SecretsManager()
    topic = settings.topic_arn
    return Morning(
        settings=digest,
        reader=Reader(
            agents=fleet.agents,
            table=table,
            reconciler=Reconciler(table, LambdaLogs(), clock.now),
            boxes=boxes,
            clock=clock.now,
        ),
        links=Links(stack=settings.stack_name, region=settings.region, queue_urls=urls),
        teller=Teller(
            Slack(
                _post,
                time.sleep,
                lambda: secrets.fetch(digest.secret_name),
                digest.channel,
            ),
            None if topic == "none" else SnsMail(topic),
        ),
        audit=dynamodb.ledger(settings, ledger_days=fleet.ledger_days).audit,
        clock=clock.now,
    )


def _post(url: str, body: bytes, headers: Mapping[str, str]) -> Answer:
    told = post.post(url, body, headers)
    return Answer(status=told.status, body=told.body, headers=told.headers)
