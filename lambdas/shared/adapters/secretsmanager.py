"""The store of secrets: AWS Secrets Manager."""

from __future__ import annotations

from typing import TYPE_CHECKING

from botocore.exceptions import BotoCoreError, ClientError

from lambdas.shared.adapters import direct
from lambdas.shared.errors import Misconfigured, Unavailable

if TYPE_CHECKING:
    from mypy_boto3_secretsmanager import SecretsManagerClient

# What a later call may answer otherwise, all by itself.
_PASSING = frozenset(
    {
        "InternalServiceError",
        "InternalServiceErrorException",
        "RequestTimeout",
        "RequestTimeoutException",
        "ServiceUnavailable",
        "ServiceUnavailableException",
        "SlowDown",
        "Throttling",
        "ThrottlingException",
        "TooManyRequestsException",
    }
)


class SecretsManager:
    """Reads secrets; fulfils :class:`lambdas.shared.secrets.SecretStore`."""

    def __init__(self, client: SecretsManagerClient | None = None) -> None:
        """Read through ``client``, or the process's own, made at the first need."""
        self._client = client

    def fetch(self, name: str) -> str:
        """See :meth:`lambdas.shared.secrets.SecretStore.fetch`."""
        client = self._client or direct.client("secretsmanager")
        try:
            answer = client.get_secret_value(SecretId=name)
        except ClientError as error:
            code = error.response.get("Error", {}).get("Code", "")
            status = error.response.get("ResponseMetadata", {}).get("HTTPStatusCode", 0)
            if code in _PASSING or status >= 500:
                raise Unavailable(f"secret {name}: {code}") from error
            raise Misconfigured(f"secret {name} cannot be fetched: {code}") from error
        except BotoCoreError as error:
            raise Unavailable(f"secret {name}: {type(error).__name__}") from error
        if "SecretString" not in answer:
            raise Misconfigured(f"secret {name} is binary, want text")
        text: str = answer["SecretString"]
        return text
