"""Bodies too large for a row, in the payload bucket."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from botocore.exceptions import ClientError

from lambdas.shared.adapters import aws
from lambdas.shared.adapters.failures import code, told_apart

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client

_WHAT = "the payload bucket"


def _client() -> Any:
    return aws.client("s3")


class S3Bodies:
    """A :class:`lambdas.shared.ledger.Bodies` in S3.

    The client is made at the first large body: most processes never need it.
    """

    def __init__(self, bucket: str, client: Callable[[], S3Client] = _client) -> None:
        """Use ``bucket``; ``client`` is called at every operation."""
        self._bucket = bucket
        self._client = client

    def put(self, key: str, data: bytes) -> None:
        """See the port."""
        with told_apart(_WHAT):
            self._client().put_object(
                Bucket=self._bucket,
                Key=key,
                Body=data,
                ContentType="application/zlib",
            )

    def get(self, key: str) -> bytes | None:
        """See the port.

        Without s3:ListBucket a missing object is answered "access denied", so
        the reader's role needs it to tell the two apart.
        """
        with told_apart(_WHAT):
            try:
                answer = self._client().get_object(Bucket=self._bucket, Key=key)
            except ClientError as error:
                if code(error) not in {"NoSuchKey", "404"}:
                    raise
                return None
            return answer["Body"].read()
