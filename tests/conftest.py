"""What every test stands on: a clean environment, no network, captured data."""

from __future__ import annotations

import os
import sys
from collections import Counter
from collections.abc import Generator, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from botocore.awsrequest import AWSPreparedRequest

from lambdas.shared.adapters import direct
from tests import real_data

TESTS = Path(__file__).resolve().parent

# A person's own AWS settings must neither leak into a test nor be reached by one.
_FOREIGN_PREFIXES = ("AWS_", "BELLHOP_", "POWERTOOLS_", "CDK_")
_KEPT = {"BELLHOP_PROVE", "BELLHOP_FIXTURES"}
_FOREIGN = {"HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy"}
_FOREIGN |= {"REQUESTS_CA_BUNDLE"}
_OURS = {
    "AWS_ACCESS_KEY_ID": "testing",
    "AWS_SECRET_ACCESS_KEY": "testing",
    "AWS_DEFAULT_REGION": "eu-central-1",
    "AWS_REGION": "eu-central-1",
    "AWS_EC2_METADATA_DISABLED": "true",
    "AWS_CONFIG_FILE": os.devnull,
    "AWS_SHARED_CREDENTIALS_FILE": os.devnull,
    # 0.4 x the time; `make synth` and one test validate.
    "CDK_VALIDATION": "false",
}

_totals: Counter[str] = Counter()


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add ``--prove``: the heavy proofs in full size."""
    parser.addoption(
        "--prove",
        action="store_true",
        default=os.environ.get("BELLHOP_PROVE") == "1",
        help="run the heavy proofs in full size (also BELLHOP_PROVE=1)",
    )


def pytest_configure(config: pytest.Config) -> None:
    """Clean the environment before any test module is imported."""
    for name in list(os.environ):
        is_foreign = name.startswith(_FOREIGN_PREFIXES) or name in _FOREIGN
        if is_foreign and name not in _KEPT:
            del os.environ[name]
    os.environ.update(_OURS)
    if config.getoption("--prove"):
        os.environ["BELLHOP_PROVE"] = "1"
    node = Path(sys.prefix) / "bin/node"
    if node.exists():
        os.environ["JSII_NODE"] = str(node)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Unit tests open no socket at all; the others reach this machine alone."""
    for item in items:
        if (TESTS / "unit") in item.path.parents:
            item.add_marker(pytest.mark.disable_socket)
        else:
            item.add_marker(pytest.mark.allow_hosts(["127.0.0.1"]))


@pytest.fixture(scope="session")
def full_size(request: pytest.FixtureRequest) -> bool:
    """Whether the heavy proofs run in full size (``make prove``)."""
    return bool(request.config.getoption("--prove"))


@pytest.fixture(scope="session")
def fixtures() -> Path:
    """The folder of captured data; the test is skipped where there is none."""
    if real_data.ROOT is None:
        pytest.skip(real_data.WHY_ABSENT)
    return real_data.ROOT


@pytest.fixture(autouse=True)
def _same_environment_after() -> Iterator[None]:
    """Undo what a test, or the code under it, does to the environment."""
    before = dict(os.environ)
    yield
    if dict(os.environ) != before:
        os.environ.clear()
        os.environ.update(before)


@pytest.fixture(autouse=True, scope="session")
def _moto_hears_direct_calls() -> Iterator[None]:
    """Let moto play AWS also for what is sent without a client of botocore's.

    What moto does not hear, outside ``mock_aws``, is really sent.
    """
    really_sent = direct.post

    def post(url: str, headers: Mapping[str, str], body: bytes) -> direct.Answer:
        moto = sys.modules.get("moto.core.models")
        named: Any = headers
        request = AWSPreparedRequest("POST", f"{url}/", named, body, False)
        heard = moto and moto.botocore_stubber("before-send", request)
        if not heard:
            return really_sent(url, headers, body)
        return direct.Answer(heard.status_code, heard.content)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(direct, "post", post)
        yield


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, Any, None]:
    """Fail a skipped test of captured data where the data is there."""
    outcome = yield
    report: pytest.TestReport = outcome.get_result()
    if report.skipped and reads_real_data(item) and real_data.ROOT is not None:
        reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else ""
        report.outcome = "failed"
        report.longrepr = f"skipped although {real_data.ROOT} is there: {reason}"


def reads_real_data(item: pytest.Item) -> bool:
    """Say whether a test declares that it reads captured data."""
    return "fixtures" in getattr(item, "fixturenames", ()) or bool(
        item.get_closest_marker("real_data")
    )


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    """Hand what this process used to the process that prints the summary."""
    output = getattr(session.config, "workeroutput", None)
    if output is None:
        _totals.update(real_data.counted())
    else:
        output["real_data"] = real_data.counted()


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    """Take over what a worker of xdist used."""
    _totals.update(getattr(node, "workeroutput", {}).get("real_data", {}))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say how much captured data was really used."""
    if real_data.ROOT is None:
        terminalreporter.write_line(f"real data: none, {real_data.WHY_ABSENT}")
        return
    kinds = ["vectors", "payloads", "calendars", *sorted(_totals)]
    told = ", ".join(f"{_totals[kind]} {kind}" for kind in dict.fromkeys(kinds))
    terminalreporter.write_line(f"real data: {told} used")
