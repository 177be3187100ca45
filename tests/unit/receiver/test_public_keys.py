"""Public keys that lie in the secret, and what is loaded to use them."""

from __future__ import annotations

import base64
import dataclasses
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric import ec, ed25519
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from cli.signers import Signer
from lambdas.receiver import senders as receiver_senders
from lambdas.receiver.request import from_api_gateway
from lambdas.shared.errors import Misconfigured
from lambdas.shared.senders import traits
from tests.unit.receiver import signed
from tests.unit.receiver.door import NOW, Call, Door, Heard

ROOT = Path(__file__).resolve().parents[3]
REFUSED = (401, "bad_signature")


def verdict(heard: Heard) -> tuple[int, str | None]:
    return heard.status, heard.error


def der(key: Any) -> str:
    public = key.public_key()
    data = public.public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
    return base64.b64encode(data).decode()


@pytest.mark.parametrize(
    ("sender", "stored"),
    [
        ("discord", "zz" * 32),
        ("discord", "ab" * 31),
        ("discord", "ab" * 33),
        ("sendgrid", "not base64!"),
        ("sendgrid", base64.b64encode(b"junk").decode()),
        ("sendgrid", der(ed25519.Ed25519PrivateKey.generate())),
        ("sendgrid", der(ec.generate_private_key(ec.SECP384R1()))),
        # A point that is not on the curve.
        ("sendgrid", der(ec.generate_private_key(ec.SECP256R1()))[:-8] + "AAAAAAA="),
        ("standard-webhooks", "whpk_" + base64.b64encode(b"k" * 31).decode()),
        ("standard-webhooks", "whpk_!"),
    ],
    # Fresh keys make no ids: every process of a parallel run must find the same.
    ids=[
        *("no hex", "short", "long"),
        *("no base64", "no key", "other kind", "other curve", "off the curve"),
        *("too short for whpk", "no base64 in whpk"),
    ],
)
def test_broken_public_key_is_our_fault(sender: str, stored: str) -> None:
    door = signed.door(sender)
    door.secret = stored

    assert door.knock(signed.call(sender)).status == 500


def test_sendgrid_key_may_be_pem_too() -> None:
    door = signed.door("sendgrid")
    stored = signed.stored("sendgrid")
    door.secret = f"-----BEGIN PUBLIC KEY-----\n{stored}\n-----END PUBLIC KEY-----"

    assert door.knock(signed.call("sendgrid")).status == 200


# --- Standard Webhooks with a key pair

PAIR = ed25519.Ed25519PrivateKey.generate()
PUBLIC = "whpk_" + base64.b64encode(PAIR.public_key().public_bytes_raw()).decode()


def asymmetric(call: Call, prefix: str = "v1a,") -> Call:
    headers = {name.lower(): value for name, value in call.headers.items()}
    head = f"{headers['webhook-id']}.{headers['webhook-timestamp']}."
    signature = PAIR.sign(head.encode() + call.body)
    return call.having(
        "webhook-signature", prefix + base64.b64encode(signature).decode()
    )


def test_standard_webhook_may_be_signed_with_a_key_pair() -> None:
    door = signed.door("standard-webhooks")
    door.secret = PUBLIC

    call = asymmetric(signed.call("standard-webhooks"))
    several = call.having(
        "webhook-signature", f"v1,AAAA v1a,AAAA {call.headers['webhook-signature']}"
    )

    assert door.knock(several).status == 200
    assert door.knock(asymmetric(call, prefix="v1,")).status == 401
    changed = dataclasses.replace(call, body=call.body + b" ")
    assert door.knock(changed).status == 401


def test_public_key_is_no_shared_secret() -> None:
    """Who knows it must not sign with it: by text, or by the bytes it stands for."""
    door = signed.door("standard-webhooks")
    door.secret = PUBLIC
    for secret in (PUBLIC, "whsec_" + PUBLIC.removeprefix("whpk_")):
        try:
            delivery = Signer("standard-webhooks").sign(
                signed.draft("standard-webhooks", b'{"type": "x"}', secret=secret)
            )
        except ValueError:
            continue

        assert verdict(door.knock(signed.arriving(delivery))) == REFUSED


def test_pair_and_shared_secret_may_both_be_live() -> None:
    door = signed.door("standard-webhooks")
    shared = signed.stored("standard-webhooks")
    door.secret = json.dumps({"current": PUBLIC, "previous": shared})

    assert door.knock(signed.call("standard-webhooks")).status == 200
    again = signed.call("standard-webhooks", delivery_id="msg_2")
    assert door.knock(asymmetric(again)).status == 200


@pytest.mark.parametrize(
    ("told", "needs"), [(True, "senders"), (False, "core"), (None, "core")]
)
def test_key_pair_alone_ships_what_it_needs(told: bool | None, needs: str) -> None:
    options = {} if told is None else {"public_key": told}
    source = Door("standard-webhooks", options=options).source

    assert traits("standard-webhooks", source).needs == needs


def test_public_key_is_said_by_true_or_false_alone() -> None:
    source = Door("standard-webhooks", options={"public_key": "true"}).source

    with pytest.raises(Misconfigured, match="public_key: want true or false"):
        traits("standard-webhooks", source)


# --- What is loaded when

LOADED = """
import sys
from tests.unit.receiver import signed

name = sys.argv[1]
assert signed.door(name).knock(signed.call(name)).status // 100 == 2
# The signer of a key pair has loaded it; a verifier alone is looked at.
print("cryptography" in sys.modules or "jwt" in sys.modules)
"""


@pytest.mark.parametrize("name", ["github", "standard-webhooks", "twilio", "hubspot"])
def test_cryptography_is_not_loaded_for_a_shared_secret(name: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", LOADED, name],
        cwd=ROOT,
        env={"PYTHONPATH": str(ROOT), "PATH": ""},
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.stdout.splitlines()[-1:] == ["False"], done.stderr


def test_missing_dependency_says_what_to_write(monkeypatch: pytest.MonkeyPatch) -> None:
    door = signed.door("standard-webhooks")
    door.secret = PUBLIC
    for name in [n for n in sys.modules if n.startswith("cryptography")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "cryptography", None)
    record = receiver_senders.load(door.source)
    event = asymmetric(signed.call("standard-webhooks")).to_api_gateway("x")
    request = from_api_gateway(event, door.source, NOW)

    with pytest.raises(Misconfigured, match="public_key = true"):
        record.proof.verify(request, [PUBLIC], NOW)
