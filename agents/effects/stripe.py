"""Effects on Stripe: a charge, a refund, any POST of its API.

Stripe honours an ``Idempotency-Key``: a second request with the same key is
answered as the first was, a refusal and a 500 included. It may forget keys
after 24 hours (v1 of the API), so an effect in doubt for longer is not sent again.

Rules of the service, from docs.stripe.com: "Idempotent requests", "Error
handling", "Advanced error handling" (/error-low-level), "Rate limits".
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import timedelta
from typing import Any
from urllib.parse import urlencode

from agents.effects import outgoing
from agents.effects.outgoing import Answer, Call
from lambdas.shared.effects import repeatable

API = "https://api.stripe.com/v1"
SECRET = "bellhop/stripe-token"  # noqa: S105 - the secret's name

# An hour less than Stripe promises: the request itself and clocks take time.
_REMEMBERED = timedelta(hours=23)

Result = dict[str, Any]


@repeatable(within=_REMEMBERED)
def request(
    path: str,
    params: Mapping[str, Any],
    *,
    operation_id: str,
    secret: str = SECRET,
    version: str | None = None,
) -> Result:
    """POST ``params`` to ``path`` (``customers``); return Stripe's object.

    Without its ``client_secret``, which has no place in a ledger. ``version``
    pins the API's. Sent twice within a day it happens once. A declined card is
    remembered too: to try it anew, replay the event with ``--again``.
    """
    value = outgoing.token(secret)
    headers = {
        "authorization": f"Bearer {value}",
        "content-type": "application/x-www-form-urlencoded",
        "idempotency-key": operation_id,
    }
    if version:
        headers["stripe-version"] = version
    call = Call(
        downstream="stripe",
        method="POST",
        url=f"{API}/{path.strip('/')}",
        headers=headers,
        body=urlencode(list(_flat(params))).encode(),
        token=value,
    )
    made = _told(outgoing.send(call)).value()
    if not isinstance(made, dict):
        raise call.unknown("answered no JSON object")
    return {key: each for key, each in made.items() if key != "client_secret"}


@repeatable(within=_REMEMBERED)
def charge(
    amount: int,
    currency: str,
    *,
    customer: str,
    payment_method: str,
    description: str | None = None,
    operation_id: str,
    secret: str = SECRET,
) -> Result:
    """Charge a saved card off session; return the PaymentIntent.

    ``amount`` counts the currency's smallest unit (cents). Otherwise as
    :func:`request`.
    """
    params: dict[str, Any] = {
        "amount": amount,
        "currency": currency,
        "customer": customer,
        "payment_method": payment_method,
        "confirm": True,
        "off_session": True,
        "metadata": {"bellhop_operation": operation_id},
    }
    if description:
        params["description"] = description
    return request("payment_intents", params, operation_id=operation_id, secret=secret)


@repeatable(within=_REMEMBERED)
def refund(
    payment_intent: str,
    *,
    amount: int | None = None,
    operation_id: str,
    secret: str = SECRET,
) -> Result:
    """Refund a payment, whole or ``amount`` of it; otherwise as :func:`request`."""
    params: dict[str, Any] = {
        "payment_intent": payment_intent,
        "metadata": {"bellhop_operation": operation_id},
    }
    if amount is not None:
        params["amount"] = amount
    return request("refunds", params, operation_id=operation_id, secret=secret)


def _flat(value: Any, name: str = "") -> Iterator[tuple[str, str]]:
    """Yield Stripe's form fields: ``metadata[order]``, ``items[0][price]``."""
    if isinstance(value, Mapping):
        for key, each in value.items():
            yield from _flat(each, f"{name}[{key}]" if name else str(key))
    elif isinstance(value, list | tuple):
        for index, each in enumerate(value):
            yield from _flat(each, f"{name}[{index}]")
    elif isinstance(value, bool):
        yield name, "true" if value else "false"
    elif value is not None:
        yield name, str(value)


def _told(answer: Answer) -> Answer:
    """Return a 2xx answer, or raise what Stripe's refusal means."""
    document = answer.json()
    error = document.get("error") if isinstance(document, dict) else None
    kind = error.get("type") if isinstance(error, dict) else None
    # 409: a request with this key is going on. idempotency_error: the key was
    # used with other parameters. Either way an earlier one may have happened.
    if answer.status == 409 or kind == "idempotency_error":
        raise answer.call.unknown(f"answered {answer.status}: {answer.message}")
    return answer.checked()
