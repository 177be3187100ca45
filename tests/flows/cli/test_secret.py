"""A secret is rotated under traffic, and no delivery is refused."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta

import boto3
import pytest
from moto import mock_aws

from cli import matched, rotation, vault
from cli.output import CliError
from cli.target import Target, find
from lambdas.shared.clock import milliseconds
from lambdas.shared.secrets import Secret, parse
from tests.flows.cli.conftest import Stack


def verdict(stack: Stack, source: str, which: str = "current") -> str:
    """Send one sample and return what became of it."""
    answered = stack.run("send", source, "--secret", which)
    return str(answered.json[0]["verdict"])


def metric(source: str, which: str, times: int) -> None:
    """Report what the receiver's metric would have."""
    boto3.client("cloudwatch").put_metric_data(
        Namespace="Bellhop",
        MetricData=[
            {
                "MetricName": "SecretMatched",
                "Dimensions": [
                    {"Name": "Source", "Value": source},
                    {"Name": "Which", "Value": which},
                ],
                "Timestamp": datetime.now(UTC),
                "Value": times,
            }
        ],
    )


@pytest.mark.parametrize("source", ["github", "slack"])
def test_rotation_refuses_no_valid_delivery_at_any_moment(
    stack: Stack, source: str
) -> None:
    verdicts = [verdict(stack, source)]
    rotated = stack.run("secret", "rotate", source, stdin="second\n")
    verdicts += [verdict(stack, source), verdict(stack, source, "previous")]
    stack.pass_time(23 * 3600)
    verdicts += [verdict(stack, source), verdict(stack, source, "previous")]
    old = json.loads(stack.secret(source))["previous"]
    retired = stack.run("secret", "retire", source)
    stack.pass_time(23 * 3600 + 61)
    verdicts += [verdict(stack, source)]

    assert (rotated.code, retired.code) == (0, 0)
    assert verdicts == ["accepted"] * 6
    assert (old, stack.secret(source)) == (f"first-{source}", "second")


def test_retired_secret_is_refused_within_a_minute(
    stack: Stack, monkeypatch: pytest.MonkeyPatch
) -> None:
    stack.run("secret", "rotate", "github", stdin="second\n")
    assert verdict(stack, "github", "previous") == "accepted"

    stack.run("secret", "retire", "github")
    stack.pass_time(61)
    monkeypatch.setenv("OLD", "first-github")
    answered = stack.run(
        *("send", "github", "--url", f"{stack.url}/webhooks/github"),
        *("--secret-value-from", "OLD"),
    )

    assert answered.json[0]["error"] == "bad_signature"


def test_old_secret_ends_by_itself_with_the_window(stack: Stack) -> None:
    stack.run("secret", "rotate", "github", "--hours", "2", stdin="second\n")

    stack.pass_time(2 * 3600 + 1)

    assert verdict(stack, "github", "previous") == "unexpected"
    assert verdict(stack, "github") == "accepted"


def test_secret_in_use_is_not_retired_unless_now(stack: Stack) -> None:
    stack.run("secret", "rotate", "github", stdin="second\n")
    metric("github", "previous", 3)

    refused = stack.run("secret", "retire", "github", text=True)
    forced = stack.run("secret", "retire", "github", "--now")

    assert refused.code == 1
    assert "in the last hour that the old secret has verified: 3" in refused.err
    assert forced.code == 0
    assert stack.secret("github") == "second"


def test_second_rotation_does_not_drop_a_secret_that_is_still_accepted(
    stack: Stack,
) -> None:
    stack.run("secret", "rotate", "github", stdin="second\n")

    again = stack.run("secret", "rotate", "github", stdin="third\n", text=True)

    assert again.code == 1
    assert "is being rotated already" in again.err
    assert json.loads(stack.secret("github"))["current"] == "second"


def test_second_of_two_rotations_at_once_changes_nothing(stack: Stack) -> None:
    """Else the first one's value is pasted at the sender and refused here."""
    target = find(local=False, stack="Bellhop", profile=None, region=None)
    kept, version = vault.read(target, "github")
    stack.run("secret", "rotate", "github", stdin="second\n")

    mine = rotation.rotated(
        kept, "third", now=datetime.now(UTC), window=rotation.WINDOW
    )
    with pytest.raises(CliError, match="somebody else"):
        vault.store(target, "github", mine, "secret rotated", over=version)

    assert json.loads(stack.secret("github"))["current"] == "second"
    assert stack.run("secret", "retire", "github", "--now").code == 0
    assert stack.run("secret", "rotate", "github", stdin="third\n").code == 0


def test_status_tells_which_secrets_live_and_never_what_they_are(
    stack: Stack,
) -> None:
    stack.run("secret", "rotate", "github", "--hours", "1", stdin="second\n")
    metric("github", "previous", 2)

    answered = stack.run("secret", "status", "github")

    current, previous = answered.json
    assert answered.code == 1
    assert (current["which"], previous["which"]) == ("current", "previous")
    assert current["fingerprint"] == rotation.fingerprint("second")
    assert previous["live_until"] is not None
    assert previous["matched_last_hour"] == 2
    assert previous["note"] == "in use, and ends soon"
    assert "second" not in answered.out
    assert "first-" not in answered.out


def test_generated_secret_is_shown_once_and_accepted(stack: Stack) -> None:
    made = stack.run("secret", "set", "github", "--generate")

    assert made.json["generated"] == stack.secret("github")
    assert verdict(stack, "github") == "accepted"


def test_generated_secret_is_shown_to_a_person_too(stack: Stack) -> None:
    made = stack.run("secret", "rotate", "github", "--generate", text=True)

    assert json.loads(stack.secret("github"))["current"] in made.out.split()


def test_secret_that_the_sender_makes_up_is_not_generated(stack: Stack) -> None:
    answered = stack.run("secret", "rotate", "slack", "--generate", text=True)

    assert answered.code == 2
    assert "makes up its secrets itself" in answered.err
    assert stack.secret("slack") == "first-slack"


def test_rotation_walks_through_what_is_left_to_do(stack: Stack) -> None:
    chosen = stack.run("secret", "rotate", "github", stdin="second\n", text=True)
    made = stack.run("secret", "rotate", "slack", stdin="second\n", text=True)

    assert "Put the new secret in at github, a minute from now" in chosen.out
    assert "slack signs with the new one already" in made.out
    assert "Signing Secret" in made.out
    assert "second" not in chosen.out + made.out


def test_change_is_audited_without_the_value(stack: Stack) -> None:
    stack.run("secret", "set", "github", stdin="second\n")

    day = f"{datetime.now(UTC):%Y-%m-%d}"
    (entry,) = stack.table.query(f"audit#{day}")
    assert entry["what"] == "secret set"
    assert entry["about"] == f"github {rotation.fingerprint('second')}"
    assert entry["who"].startswith("arn:aws:")


@pytest.mark.parametrize("stdin", ["", "\n", "  \n"])
def test_empty_secret_is_refused(stack: Stack, stdin: str) -> None:
    answered = stack.run("secret", "set", "github", stdin=stdin, text=True)

    assert answered.code == 2
    assert stack.secret("github") == "first-github"


def test_key_of_several_lines_is_stored_whole_and_other_lines_are_refused(
    stack: Stack,
) -> None:
    pem = "-----BEGIN PUBLIC KEY-----\nMFkw\n-----END PUBLIC KEY-----"

    stack.run("secret", "set", "billing", stdin=f"{pem}\n")
    two = stack.run("secret", "set", "github", stdin="one\ntwo\n", text=True)

    assert stack.secret("billing") == pem
    assert (two.code, stack.secret("github")) == (2, "first-github")


@pytest.mark.parametrize("value", ["{x", " {x", '{"current": "x"}'])
def test_secret_that_looks_like_json_is_still_itself(value: str) -> None:
    assert parse("x", rotation.text(Secret(current=value))).current == value


def test_local_stack_counts_matches_by_the_log_of_its_receiver() -> None:
    with mock_aws():
        logs = boto3.client("logs")
        logs.create_log_group(logGroupName="/stack/ReceiverLogs")
        logs.create_log_stream(logGroupName="/stack/ReceiverLogs", logStreamName="s")
        now = datetime.now(UTC)
        lines = [
            (now - timedelta(minutes=90), "github", "previous"),
            (now, "github", "previous"),
            (now, "github", "current"),
            (now, "slack", "previous"),
            (now, "github", "previous"),
        ]
        logs.put_log_events(
            logGroupName="/stack/ReceiverLogs",
            logStreamName="s",
            logEvents=[
                {
                    "timestamp": milliseconds(at),
                    "message": json.dumps(
                        {"Source": source, "Which": which, "SecretMatched": [1.0]}
                    ),
                }
                for at, source, which in lines
            ],
        )
        local = Target(
            name="local",
            api_url="http://127.0.0.1:9",
            ledger_table="ledger",
            payload_bucket="payloads",
            bus="bus",
            outputs={},
            session=boto3.Session(),
            endpoint="https://logs.eu-central-1.amazonaws.com",
        )

        found = matched.count(local, "github", "previous", timedelta(hours=1))

    assert found == 2


def test_audit_names_the_secret_that_was_retired(stack: Stack) -> None:
    stack.run("secret", "rotate", "github", stdin="second\n")

    retired = stack.run("secret", "retire", "github")

    *_, last = stack.run("audit").json
    assert last["about"] == f"github {retired.json['retired']}"
