"""What the outcome of an AWS call means when the call is an effect."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from botocore.exceptions import (
    BotoCoreError,
    ClientError,
    NoCredentialsError,
    ParamValidationError,
)
from botocore.exceptions import (
    ConnectionError as NotConnectedError,
)

from lambdas.shared.adapters.failures import PASSING, code
from lambdas.shared.errors import GiveUp, Misconfigured, OutcomeUnknown, RetryLater


@contextmanager
def outcome(service: str) -> Iterator[None]:
    """Turn a failure of the AWS call in the block into what it means for an effect.

    Raises:
        RetryLater: refused for now, or never reached; it surely did not happen.
        GiveUp: refused for good.
        Misconfigured: there are no AWS credentials.
        OutcomeUnknown: sent and not answered, or failed on the service's side.
    """
    try:
        yield
    except ClientError as error:
        raise _refusal(service, error) from error
    except NoCredentialsError as error:
        raise Misconfigured(f"{service}: no AWS credentials") from error
    except ParamValidationError as error:
        raise GiveUp(f"{service}: {error}", downstream=service) from error
    except NotConnectedError as error:
        message = f"{service} could not be reached: {type(error).__name__}"
        raise RetryLater(message, downstream=service) from error
    except BotoCoreError as error:
        message = f"{service} broke off: {type(error).__name__}"
        raise OutcomeUnknown(message, downstream=service) from error


def _refusal(service: str, error: ClientError) -> RetryLater | GiveUp | OutcomeUnknown:
    name = code(error)
    status = error.response.get("ResponseMetadata", {}).get("HTTPStatusCode", 500)
    words = error.response.get("Error", {}).get("Message", "")
    message = f"{service} refused {error.operation_name}: {name}: {words}"
    if name in PASSING or status == 503:
        return RetryLater(message, downstream=service)
    if status >= 500:
        return OutcomeUnknown(message, downstream=service)
    return GiveUp(message, downstream=service)
