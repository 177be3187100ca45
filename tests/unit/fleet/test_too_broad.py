"""A pattern that hears everything is said on purpose, or refused."""

from __future__ import annotations

import json

import pytest

from tests.unit.fleet.broken import GITHUB, problems

EVERYTHING = [
    '{ source = "github", kind = "*" }',
    '{ source = "github", kind = ["issues.opened", "*"] }',
    "{ pattern = {} }",
    '{ pattern = { source = ["aws.s3"] } }',
    '{ pattern = { detail-type = ["Object Created"] } }',
    '{ pattern = { source = ["aws.s3"], detail-type = [] } }',
    '{ pattern = { source = ["aws.s3"], detail-type = [{ exists = true }] } }',
    '{ pattern = { source = ["aws.s3"], detail-type = [{ wildcard = "*" }] } }',
    '{ pattern = { source = ["aws.s3"], detail-type = [{ suffix = "" }] } }',
    '{ pattern = { source = ["aws.s3"], detail-type = [{ anything-but = "x" }] } }',
    '{ pattern = { source = ["aws.s3", { prefix = "" }], detail-type = ["x"] } }',
    '{ pattern = { source = [{ anything-but = "aws.ec2" }], detail-type = ["x"] } }',
    '{ pattern = { "$or" = [{ source = ["aws.s3"] }, { detail-type = ["x"] }] } }',
    '{ pattern = { account = ["123456789012"] } }',
]


def fleet(entry: str, *, on_purpose: bool = False) -> str:
    more = "everything = true\n" if on_purpose else ""
    return f'{GITHUB}[agents.all]\nrun = "agents.hello:run"\non = [{entry}]\n{more}'


@pytest.mark.parametrize("entry", EVERYTHING)
def test_pattern_that_hears_everything_is_refused(entry: str) -> None:
    found = problems(fleet(entry))

    assert any("too broad" in each and "everything = true" in each for each in found)


@pytest.mark.parametrize("entry", EVERYTHING[:2] + EVERYTHING[3:5] + EVERYTHING[6:-2])
def test_it_is_allowed_where_the_agent_says_so(entry: str) -> None:
    assert problems(fleet(entry, on_purpose=True)) == []


@pytest.mark.parametrize(
    "pattern",
    [
        {"source": ["aws.s3"], "detail-type": ["Object Created"]},
        {"source": [{"prefix": "aws.partner/"}], "detail-type": [{"prefix": "Mon"}]},
        {"source": ["aws.ecs"], "detail-type": [{"wildcard": "ECS * Change"}]},
    ],
    ids=json.dumps,
)
def test_pattern_with_source_and_kind_is_not_too_broad(pattern: object) -> None:
    entry = json.dumps(pattern).replace(": ", " = ").replace('"source"', "source")

    assert problems(fleet(f"{{ pattern = {entry} }}")) == []
