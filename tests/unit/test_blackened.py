"""What looks like a secret goes, what helps whoever reads the error stays."""

from __future__ import annotations

import pytest

from lambdas.shared.blackened import BLACK, blackened

SECRETS = (
    "ghp_16C7e42F292c6912E7710c838347Ae178B4a",
    "github_pat_11AAAAAAA0abcdef",
    "xoxb-1234-5678-abcdefgh",
    "sk_live_4eC39HqLyjWDarjtT1zdp7dc",
    "sk-proj-abcdefgh-ijkl",
    "AKIAIOSFODNN7EXAMPLE",
    "AIzaSyA-abcdefghijk",
    "glpat-abcdefghijkl",
    "npm_abcdefghijkl",
    "whsec_C2FVsBQIhrscChlQIMV",
    "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2ln",
    "ada.lovelace+work@example.com",
    "5f2b8c1d9e0a7f3b6c4d5e",
)


@pytest.mark.parametrize("secret", SECRETS)
def test_a_secret_is_blackened_wherever_it_stands(secret: str) -> None:
    for words in (
        "{}",
        "no: {}",
        "{{'a': '{}'}}",
        "Authorization: Bearer {}",
        "x={}&y",
    ):
        said = blackened(words.format(secret))

        assert secret not in said
        assert BLACK in said


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("https://ada:hunter2@db.example/x", "https://***@db.example/x"),
        ("password=hunter2, user=ada", "password=***, user=ada"),
        ("token=abc&x=1", "token=***&x=1"),
        ("Authorization: Basic YWRhOmh1bnRlcjI=", "Authorization: Basic ***"),
    ],
)
def test_a_secret_is_known_by_its_place(text: str, wanted: str) -> None:
    assert blackened(text) == wanted


@pytest.mark.parametrize(
    "text",
    [
        "no account in the currency 'xaf'",
        "slack answered 503: service_unavailable, retry after 30 s",
        "anthropic.claude-3-5-sonnet-20241022-v2:0 is overloaded",
        "issue 4711 of acme/widgets-2026 is locked",
        "event github:72d3162e-cc78-11e3-81ab-4c9367dc0958 is too old",
        "arn:aws:sqs:us-east-1:123456789012:Bellhop-WorkersTriageQueue-AbC1dE2f",
        "invoice in_1MtHbELkdIwHu7ix is paid",
        "lambdas/worker/runner.py, line 189",
        "2026-11-29T18:22:52.123Z",
    ],
)
def test_what_helps_to_find_the_fault_stays(text: str) -> None:
    assert blackened(text) == text
