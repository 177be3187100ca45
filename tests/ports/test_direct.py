"""A first try without a client comes to what a client alone would come to.

Each case is played twice against a store on loopback: by botocore's client alone, and
by the first try with a client behind it.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from botocore.config import Config
from botocore.credentials import RefreshableCredentials

from lambdas.shared.adapters import aws, direct
from lambdas.shared.adapters.dynamodb import DynamoTable
from lambdas.shared.adapters.secretsmanager import SecretsManager
from lambdas.shared.errors import Misconfigured, Unavailable
from lambdas.shared.table import NEW, Change, Is
from tests.ports.store import (
    DAMAGED,
    HANG,
    OK,
    PAGE,
    RESET,
    Store,
    refusal,
)

ROW = {"pk": "github:1", "sk": "event", "body": b"\x00\xff", "n": 7, "said": "Größe"}
REFUSED = refusal("ConditionalCheckFailedException")
THROTTLED = refusal("ProvisionedThroughputExceededException")
BROKEN = refusal("InternalServerError", 500)
EXPIRED = refusal("ExpiredTokenException")
TOO_LATE = refusal("InvalidSignatureException")
DENIED = refusal("AccessDeniedException")

# What the store does at the first try, the second, ... (the last goes on for ever),
# what comes of it, and after how many tries.
CASES: dict[str, tuple[list[Any], Any, int]] = {
    "well": ([OK], True, 1),
    "there already": ([REFUSED], False, 1),
    "throttled once": ([THROTTLED, OK], True, 2),
    "throttled twice": ([THROTTLED, THROTTLED, OK], True, 3),
    "throttled": ([THROTTLED], Unavailable, 3),
    "broken once": ([BROKEN, OK], True, 2),
    "broken": ([BROKEN], Unavailable, 3),
    "a proxy's page once": ([PAGE, OK], True, 2),
    "a proxy's page": ([PAGE], Unavailable, 3),
    "reset once": ([RESET, OK], True, 2),
    "reset": ([RESET], Unavailable, 3),
    "written, but the answer lost": ([RESET, REFUSED], False, 2),
    "throttled, then there already": ([THROTTLED, REFUSED], False, 2),
    "silent once": ([HANG, OK], True, 2),
    "silent": ([HANG], Unavailable, 3),
    "damaged on its way": ([DAMAGED, OK], True, 2),
}
# Refused for good: the client asks once more, and tells why.
LASTING = {
    "an expired token": EXPIRED,
    "a clock that is wrong": TOO_LATE,
    "no right": DENIED,
}


@pytest.fixture
def slept(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Wait for nothing between tries; return how long it would have been."""
    seconds: list[float] = []
    monkeypatch.setattr(time, "sleep", seconds.append)
    return seconds


# As they are, whatever a test puts in their place.
_REMEMBERED = (aws.session, aws.client, aws.again, direct.client, direct._pool)


def forget() -> None:
    for remembered in _REMEMBERED:
        remembered.cache_clear()


@pytest.fixture
def store(monkeypatch: pytest.MonkeyPatch) -> Iterator[Store]:
    monkeypatch.setattr(aws, "READ_SECONDS", 0.2)
    quick = aws._CONFIG.merge(Config(read_timeout=0.2))
    monkeypatch.setattr(aws, "_CONFIG", quick)
    with Store.running() as running:
        monkeypatch.setenv("AWS_ENDPOINT_URL", running.url)
        forget()
        yield running
    forget()


def made_by(which: str) -> DynamoTable:
    of = {"client alone": aws.client, "first try": direct.client}[which]
    return DynamoTable("ledger", lambda: of("dynamodb"))


def outcome(call: Callable[[], Any]) -> Any:
    try:
        return call()
    except (Unavailable, Misconfigured) as error:
        return type(error)


@pytest.mark.usefixtures("slept")
@pytest.mark.parametrize("which", ["client alone", "first try"])
@pytest.mark.parametrize("case", CASES)
def test_outcome_is_that_of_a_client(store: Store, case: str, which: str) -> None:
    store.script, wanted, tries = CASES[case]

    found = outcome(lambda: made_by(which).put(ROW, when=NEW))

    assert found == wanted
    assert len(store.heard) == tries


@pytest.mark.usefixtures("slept")
@pytest.mark.parametrize("case", LASTING)
def test_lasting_refusal_is_told_in_the_client_s_words(store: Store, case: str) -> None:
    store.script = [LASTING[case]]
    told = []
    for which in ("client alone", "first try"):
        with pytest.raises(Misconfigured) as caught:
            made_by(which).put(ROW, when=NEW)
        told.append(str(caught.value))

    assert told[0] == told[1]
    assert len(store.heard) == 1 + 2


def test_client_is_made_only_when_it_is_needed(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    def made(service: str) -> Any:
        raise AssertionError(f"a client of {service} was made")

    monkeypatch.setattr(aws, "again", made)
    monkeypatch.setattr(aws, "client", made)
    store.script = [OK, REFUSED]

    assert made_by("first try").put(ROW, when=NEW)
    assert not made_by("first try").put(ROW, when=NEW)


def test_second_try_waits_as_a_client_s_does(store: Store, slept: list[float]) -> None:
    store.script = [THROTTLED]

    outcome(lambda: made_by("first try").put(ROW, when=NEW))

    assert len(slept) == 2
    assert all(0 <= seconds <= 1 for seconds in slept)


def test_threads_of_a_batch_keep_a_connection_each(store: Store) -> None:
    table = made_by("first try")

    with ThreadPoolExecutor(10) as pool:
        rows = [{**ROW, "pk": f"github:{n}"} for n in range(100)]
        written = list(pool.map(lambda row: table.put(row, when=NEW), rows))

    assert all(written)
    assert len(store.heard) == 100
    assert store.knocks <= 10


@pytest.mark.parametrize(
    "call",
    [
        lambda table: table.put(ROW, when=NEW),
        lambda table: table.get("github:1", "event"),
        lambda table: table.update(
            "github:1", "run#a", Change(set={"x": b"1"}, remove=["y"]), when=Is("x", 2)
        ),
    ],
    ids=["put", "get", "update"],
)
def test_what_is_sent_is_what_a_client_sends(
    store: Store, call: Callable[[DynamoTable], Any]
) -> None:
    for which in ("client alone", "first try"):
        call(made_by(which))

    theirs, ours = store.heard
    assert json.loads(ours.body) == json.loads(theirs.body)
    for name in ("X-Amz-Target", "Content-Type", "Host"):
        assert ours.headers[name] == theirs.headers[name]
    for request in store.heard:
        assert request.signature == signature_of(request)


def test_bytes_come_back_as_bytes(store: Store) -> None:
    item = {"pk": {"S": "a"}, "sk": {"S": "b"}, "body": {"B": "AP8="}, "n": {"N": "7"}}
    store.script = [(200, {"Item": item})]

    for which in ("client alone", "first try"):
        row = made_by(which).get("a", "b")
        assert row == {"pk": "a", "sk": "b", "body": b"\x00\xff", "n": 7}


def test_row_that_refused_a_change_comes_with_the_refusal(store: Store) -> None:
    status, told = REFUSED
    store.script = [(status, {**told, "Item": {"claim_token": {"S": "theirs"}}})]

    for which in ("client alone", "first try"):
        change = Change(set={"x": 1})
        found = made_by(which).update("a", "b", change, when=Is("x", 2))
        assert (found.done, found.row) == (False, {"claim_token": "theirs"})


def test_secret_is_fetched_without_a_client(store: Store) -> None:
    store.script = [(200, {"Name": "bellhop/github", "SecretString": "hush"})]

    assert SecretsManager().fetch("bellhop/github") == "hush"

    (request,) = store.heard
    assert request.headers["X-Amz-Target"] == "secretsmanager.GetSecretValue"
    assert request.signature == signature_of(request)


@pytest.mark.usefixtures("slept")
def test_secret_that_is_missing_is_told_by_the_client(store: Store) -> None:
    store.script = [refusal("ResourceNotFoundException")]

    with pytest.raises(Misconfigured, match="ResourceNotFoundException"):
        SecretsManager().fetch("bellhop/github")


def test_credentials_that_run_out_are_renewed(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    def lasting(token: str, minutes: int) -> dict[str, str]:
        until = datetime.now(UTC) + timedelta(minutes=minutes)
        keys = {"access_key": "testing", "secret_key": "testing", "token": token}
        return keys | {"expiry_time": until.isoformat()}

    renewed = RefreshableCredentials.create_from_metadata(
        lasting("old", 1), lambda: lasting("new", 60), "test"
    )
    monkeypatch.setattr(aws, "credentials", lambda: renewed)

    made_by("first try").put(ROW, when=NEW)

    (request,) = store.heard
    assert request.headers["X-Amz-Security-Token"] == "new"
    assert request.signature == signature_of(request)


def test_without_credentials_nothing_is_sent(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("AWS_ACCESS_KEY_ID")
    monkeypatch.delenv("AWS_SECRET_ACCESS_KEY")

    with pytest.raises(Misconfigured, match="no AWS credentials"):
        made_by("first try").put(ROW, when=NEW)

    assert store.heard == []


@pytest.mark.usefixtures("slept")
def test_store_that_is_not_there_is_unavailable(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Store.running() as gone:
        url = gone.url
    monkeypatch.setenv("AWS_ENDPOINT_URL", url)
    forget()

    with pytest.raises(Unavailable, match="was not reached"):
        made_by("first try").put(ROW, when=NEW)


@pytest.mark.usefixtures("slept")
def test_store_whose_certificate_nobody_vouches_for_hears_nothing(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Store.running(tls=True) as impostor:
        monkeypatch.setenv("AWS_ENDPOINT_URL", impostor.url)
        forget()
        with pytest.raises(Unavailable, match="CERTIFICATE_VERIFY_FAILED"):
            made_by("first try").put(ROW, when=NEW)

    assert impostor.heard == []
    assert impostor.knocks >= 1 + 2


@pytest.mark.parametrize(
    "name",
    [*direct.UNUSUAL, "AWS_PROFILE"],
)
def test_unusual_settings_leave_all_to_the_client(
    name: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Any
) -> None:
    profile = tmp_path / "config"
    profile.write_text("[profile odd]\nuse_fips_endpoint = true\n")
    monkeypatch.setenv("AWS_CONFIG_FILE", str(profile))
    forget()
    assert direct._address("dynamodb", "eu-central-1")

    monkeypatch.setenv(name, "odd" if name == "AWS_PROFILE" else "true")
    forget()

    assert direct._address("dynamodb", "eu-central-1") == ""
    forget()


@pytest.mark.parametrize("service", ["dynamodb", "secretsmanager"])
def test_addresses_are_those_that_botocore_finds(service: str) -> None:
    forget()
    session = aws.session()
    found = {}
    for partition in session.get_available_partitions():
        for region in session.get_available_regions(service, partition):
            client = session.create_client(service, region_name=region)
            mine = direct._address(service, region)
            assert mine in {"", client.meta.endpoint_url}
            found[region] = partition, bool(mine)

    # The main partition has its first try everywhere, and no other anywhere.
    assert set(found.values()) >= {("aws", True), ("aws-cn", False)}
    assert {p for p, has in found.values() if has} == {"aws"}
    assert all(has for p, has in found.values() if p == "aws")
    forget()


def signature_of(request: Any) -> str:
    """Return the signature by the published rules of Signature Version 4."""
    _, scope, signed, _ = request.authorization
    _, day, region, service, _ = scope.split("/")
    names = signed.split(";")
    headers = "".join(f"{n}:{request.headers[n].strip()}\n" for n in names)
    digest = hashlib.sha256(request.body).hexdigest()
    canonical = "\n".join(["POST", "/", "", headers, signed, digest])
    key = b"AWS4testing"
    for part in (day, region, service, "aws4_request"):
        key = hmac.digest(key, part.encode(), "sha256")
    text = "\n".join(
        [
            "AWS4-HMAC-SHA256",
            request.headers["X-Amz-Date"],
            f"{day}/{region}/{service}/aws4_request",
            hashlib.sha256(canonical.encode()).hexdigest(),
        ]
    )
    return hmac.new(key, text.encode(), "sha256").hexdigest()
