"""Tells a failed AWS call that may pass from one that an operator must end."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from botocore.exceptions import (
    BotoCoreError,
    ClientError,
    NoCredentialsError,
    ParamValidationError,
)

from lambdas.shared.errors import Misconfigured, Unavailable

# Refusals with a 4xx status that a later call may not meet again.
PASSING = frozenset(
    {
        "InternalServerError",
        "ItemCollectionSizeLimitExceededException",
        "LimitExceededException",
        "ProvisionedThroughputExceededException",
        "RequestLimitExceeded",
        "RequestTimeout",
        "RequestTimeoutException",
        "ServiceUnavailable",
        "SlowDown",
        "Throttling",
        "ThrottlingException",
        "ThrottledException",
        "TooManyRequestsException",
        "TransactionConflictException",
        "TransactionInProgressException",
        "KMS.ThrottlingException",
    }
)


def code(error: ClientError) -> str:
    """Return the service's word for ``error``."""
    return error.response.get("Error", {}).get("Code", "")


@contextmanager
def told_apart(what: str) -> Iterator[None]:
    """Turn a failure of the AWS call in the block into one of ours.

    ``what`` names the thing that was called, such as ``the ledger``.

    Raises:
        Unavailable: throttled, not reached, or failed on the service's side.
        Misconfigured: refused; the same call would be refused again.
    """
    try:
        yield
    except ClientError as error:
        name = code(error)
        status = error.response.get("ResponseMetadata", {}).get("HTTPStatusCode", 500)
        operation = error.operation_name
        if name in PASSING or status >= 500:
            message = f"{what} did not take {operation}: {name or status}"
            raise Unavailable(message) from error
        reason = error.response.get("Error", {}).get("Message", "")
        raise Misconfigured(f"{what} refused {operation}: {name}: {reason}") from error
    except NoCredentialsError as error:
        raise Misconfigured(f"{what}: no AWS credentials") from error
    except ParamValidationError as error:
        # It lists the parameters' values too: only what kind of error it is.
        raise Misconfigured(f"{what} would refuse the call's parameters") from error
    except BotoCoreError as error:
        raise Unavailable(f"{what} was not reached: {error}") from error
