"""AWS clients, made once per process and service, at their first use.

They are boto3's own kind of client, made by botocore: what boto3 adds (resources,
S3 transfers) is used nowhere, and is a tenth of every cold start.
"""

from __future__ import annotations

import functools
import threading
from typing import TYPE_CHECKING, Any

from botocore.config import Config
from botocore.session import Session

if TYPE_CHECKING:
    from botocore.credentials import Credentials

# A sender waits 3 seconds at most (Slack, Discord): a call that hangs must leave
# time for one more try. "standard" retries throttling and passing errors twice.
_RETRIES: Any = {"mode": "standard", "total_max_attempts": 3}
CONNECT_SECONDS = 1
READ_SECONDS = 3
_CONFIG = Config(
    connect_timeout=CONNECT_SECONDS,
    read_timeout=READ_SECONDS,
    retries=_RETRIES,
    user_agent_extra="bellhop",
)

# A hung S3 costs read_timeout a try. The receiver is ended after 10 s, and its own
# "unavailable" must come before: a large body is a sender's largest wait already.
_FEWER_TRIES: Any = {"s3": {"mode": "standard", "total_max_attempts": 2}}

# A session is not safe under threads while it makes a client, or reads its settings.
making = threading.Lock()


@functools.cache
def session() -> Session:
    """Return the process's session: its settings, credentials and clients."""
    return Session()


def credentials() -> Credentials | None:
    """Return the process's credentials, which renew themselves; None without any."""
    # Found once: the session keeps them.
    with making:
        found: Credentials | None = session().get_credentials()
        return found


@functools.cache
def client(service: str) -> Any:
    """Return the process's client for ``service`` (``dynamodb``, ``sqs``, ...).

    Nothing is looked up or sent before the first call of an operation.
    """
    with making:
        config = _CONFIG.merge(Config(retries=_FEWER_TRIES.get(service, _RETRIES)))
        return session().create_client(service, config=config)


@functools.cache
def again(service: str) -> Any:
    """Return a client for calls of which one try was made: it has the others."""
    config = _CONFIG.merge(Config(retries=_RETRIES | {"total_max_attempts": 2}))
    with making:
        return session().create_client(service, config=config)


@functools.cache
def once(service: str) -> Any:
    """Return a client that never repeats a call by itself.

    For what the service does not make once (``SendEmail``): botocore's own
    retries would send a second mail after a lost answer.
    """
    config = _CONFIG.merge(
        Config(read_timeout=20, retries={"mode": "standard", "total_max_attempts": 1})
    )
    with making:
        return session().create_client(service, config=config)
