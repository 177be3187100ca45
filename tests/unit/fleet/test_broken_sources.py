"""What can be wrong with a source, in the words that its author reads."""

from __future__ import annotations

import pytest

from tests.unit.fleet.broken import of_generic, of_source, problems


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("sources = 3", "sources: want a table, got 3"),
        ("[sources]\ngithub = 3", "sources.github: want a table, got 3"),
        (
            "[sources.Git_Hub]\nsender = 'github'",
            "sources.Git_Hub: want a name of a-z, 0-9 and -, a letter first, at most"
            " 40 long, got 'Git_Hub'",
        ),
        (
            "[sources.cron]\nsender = 'github'",
            "sources.cron: 'cron' is built in; want another name",
        ),
        ("[sources.githb]", "sources.githb.sender: no sender 'githb'"),
        (
            of_source("tolerence_seconds = 300"),
            "sources.door.tolerence_seconds: unknown key;"
            " did you mean 'tolerance_seconds'?",
        ),
        (
            of_source("tolerance_seconds = '5 min'"),
            "sources.door.tolerance_seconds: want a whole number, 1 to 259200,"
            " got '5 min'",
        ),
        (
            of_source("tolerance_seconds = true"),
            "sources.door.tolerance_seconds: want a whole number, 1 to 259200,"
            " got true",
        ),
        (
            of_source("max_body_bytes = 9_000_000"),
            "sources.door.max_body_bytes: want 1 to 6000000, got 9000000",
        ),
        (
            of_source("facts = ['$..x y']"),
            "sources.door.facts: want JSON paths like 'repository.full_name', or"
            " 'header:NAME' (no secret's), got '$..x y' in it",
        ),
        (
            "[sources.topic]\nsender = 'aws-sns'\ntopics = ['a']",
            "sources.topic.owner: sender 'aws-sns' wants it: text",
        ),
        (
            "[sources.topic]\nsender = 'aws-sns'\nowner = 'a'",
            "sources.topic.topics: sender 'aws-sns' wants it: a list of texts",
        ),
        (
            "[sources.topic]\nsender = 'aws-sns'\nowner = 'a'\ntopics = []",
            "sources.topic.topics: want at least one text in it",
        ),
        (
            "[sources.topic]\nsender = 'aws-sns'\nowner = 7\ntopics = ['a']",
            "sources.topic.owner: want text, got 7",
        ),
        (
            of_source("facts = ['header:X Shop']"),
            "sources.door.facts: want JSON paths like 'repository.full_name', or"
            " 'header:NAME' (no secret's), got 'header:X Shop' in it",
        ),
        (
            of_source("facts = ['header:Authorization']"),
            "sources.door.facts: want JSON paths like 'repository.full_name', or"
            " 'header:NAME' (no secret's), got 'header:Authorization' in it",
        ),
        (
            of_source("facts = ['header:X-Gitlab-Token']"),
            "sources.door.facts: want JSON paths like 'repository.full_name', or"
            " 'header:NAME' (no secret's), got 'header:X-Gitlab-Token' in it",
        ),
        (
            of_source("allow_cidrs = ['::ffff:192.0.2.0/120']"),
            "sources.door.allow_cidrs: want '::ffff:192.0.2.0/120' written as IPv4",
        ),
        (
            of_source("allow_cidrs = ['192.0.2.1/24']"),
            "sources.door.allow_cidrs: want networks like '192.0.2.0/24':"
            " 192.0.2.1/24 has host bits set",
        ),
        (
            of_source("public_url = 'example.com/hooks'"),
            "sources.door.public_url: want the https:// address that is called,"
            " got 'example.com/hooks'",
        ),
        (
            of_source("identity = 'bodies'"),
            "sources.door.identity: want body | request, got 'bodies';"
            " did you mean 'body'?",
        ),
        (
            of_source("identity = 'request'"),
            "sources.door.identity: sender 'github' offers a delivery id, and"
            " 'request' would make its every retry a new event; leave it out, or"
            " say 'body'",
        ),
        (
            of_source("algorithm = 'sha256'"),
            "sources.door.algorithm: only sender = 'generic' takes this; want it"
            " removed",
        ),
        (
            "[sources.datadog]",
            "sources.datadog.identity: sender 'datadog' offers no delivery id; want"
            " 'body' (identical bodies within ledger_days are one event) or"
            " 'request' (every request is a new event)",
        ),
        (
            "[sources.twilio]",
            "sources.twilio.public_url: sender 'twilio' signs the address it calls;"
            " want that address",
        ),
        (
            "[sources.github]\n[sources.eu]\nsender = 'github'\n"
            "secret_name = 'bellhop/github'",
            "sources.eu.secret_name: 'bellhop/github' is the secret of source"
            " 'github' too; want one secret per source",
        ),
        (
            of_source("secret_name = 'a secret'"),
            "sources.door.secret_name: want a secret's name (letters, digits and"
            " /_+=.@-), got 'a secret'",
        ),
        (
            "[sources.sentry]",
            "fleet.warm: source 'sentry' waits 1 s for an answer; want 1 (a receiver"
            " kept started) or 0 (a cold start may lose its event)",
        ),
        (
            of_generic(""),
            "sources.door.algorithm: want sha256 | sha1 | sha512 | token | basic",
        ),
        (
            "[sources.door]\nsender = 'generic'\nalgorithm = 'token'\n"
            "signature_header = 'X'",
            "sources.door.identity: sender 'generic' offers no delivery id; want"
            " 'body' (identical bodies within ledger_days are one event) or"
            " 'request' (every request is a new event)",
        ),
        (
            of_generic("algorithm = 'token'\nsigned = '{body}'"),
            "sources.door.signed: means nothing with algorithm 'token', which signs"
            " nothing; want it removed",
        ),
        (
            of_generic("algorithm = 'basic'"),
            "sources.door.signature_header: HTTP Basic is always"
            " 'Authorization: Basic ...'; want it removed",
        ),
        (
            of_generic(
                "algorithm = 'sha256'\nsigned = '{timestamp}.{body}'\n"
                "timestamp_header = 'x-sign'"
            ),
            "sources.door.timestamp_header: is the signature's too; want another"
            " header",
        ),
        (
            of_generic("algorithm = 'sha256'\nsigned = '{timestmp}.{body}'"),
            "sources.door.signed: want {body}, {timestamp}, {id};"
            " did you mean 'timestamp'?",
        ),
        *(
            (
                of_generic(f"algorithm = 'sha256'\nsigned = '{signed}'{more}"),
                f"sources.door.signed: nothing separates {seam}: bytes could move from"
                " one to the other, and a captured request get another id; want what"
                " the sender puts between them, or the id left out",
            )
            for seam, signed, more in [
                ("{id}{body}", "v1.{id}{body}", ""),
                ("{body}{id}", "{body}{id}", ""),
                (
                    "{timestamp}{id}",
                    "{timestamp}{id}.{body}",
                    "\ntimestamp_header = 'X-Time'",
                ),
            ]
        ),
        (
            of_generic("algorithm = 'sha256'\nsigned = 'body'"),
            "sources.door.signed: want {body} in it, got 'body'",
        ),
        (
            of_generic("algorithm = 'sha256'\nsigned = '{timestamp}.{body}'"),
            "sources.door.timestamp_header: signed has {timestamp} in it;"
            " want a header",
        ),
        (
            of_generic("algorithm = 'sha256'\ntimestamp_header = 'X-Time'"),
            "sources.door.timestamp_header: an unsigned time protects nothing; want"
            " {timestamp} in signed, or this removed",
        ),
        (
            of_generic("algorithm = 'sha256'\ntolerance_seconds = 300"),
            "sources.door.tolerance_seconds: no time is signed; want a"
            " timestamp_header",
        ),
        (
            of_generic("algorithm = 'sha256'\nkind_from = 'X-Kind'"),
            "sources.door.kind_from: want 'header:NAME', 'body:JSON.PATH' or"
            " 'text:VALUE', got 'X-Kind'",
        ),
        (
            of_generic("algorithm = 'sha256'\ntenant_from = 'text:acme'"),
            "sources.door.tenant_from: want 'header:NAME' or 'body:JSON.PATH',"
            " got 'text:acme'",
        ),
    ],
)
def test_problem_says_where_it_is_and_what_was_wanted(text: str, problem: str) -> None:
    assert f"fleet.toml: {problem}" in problems(text)
