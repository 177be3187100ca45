"""The ports under test: the fake that other tests use, and AWS as moto plays it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from moto import mock_aws

from lambdas.shared.adapters import direct
from lambdas.shared.adapters.dynamodb import DynamoTable
from lambdas.shared.adapters.s3 import S3Bodies
from lambdas.shared.event import Event
from lambdas.shared.ledger import Bodies
from lambdas.shared.table import Table
from tests.fakes.ledger import FakeBodies, FakeTable
from tests.fakes.moto_ledger import BUCKET, TABLE, make_bucket, make_table
from tests.fakes.worker import MakeRig, Rig


@pytest.fixture(params=["fake", "aws"])
def kind(request: pytest.FixtureRequest) -> Iterator[str]:
    if request.param == "fake":
        yield "fake"
        return
    with mock_aws():
        make_table()
        make_bucket()
        yield "aws"


@pytest.fixture
def table(kind: str) -> Table:
    if kind == "fake":
        return FakeTable()
    return DynamoTable(TABLE, lambda: direct.client("dynamodb"))


@pytest.fixture
def bodies(kind: str) -> Bodies:
    if kind == "fake":
        return FakeBodies()
    return S3Bodies(BUCKET)


@pytest.fixture
def make_rig(table: Table, bodies: Bodies) -> MakeRig:
    """Return what makes a worker over the table under test."""

    def make(agent: Callable[[Event, Any], Any], **options: Any) -> Rig:
        return Rig(agent, table=table, bodies=bodies, **options)

    return make
