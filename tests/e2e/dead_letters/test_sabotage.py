"""`bellhop doctor` finds what somebody broke through AWS's own API.

It breaks the stack for good, so it comes last in this folder. The saboteur knows
the stack by what AWS lists, not by our code; the doctor
knows nothing of the saboteur.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from local.home import Home
from local.stack import LocalStack
from tests.e2e.dead_letters import operator


@dataclass(frozen=True, slots=True)
class Sabotage:
    """Something done to an account; a finding of ``check`` must name ``word``."""

    check: str
    word: str
    do: Callable[[Saboteur], None]


class Saboteur:
    """Somebody with rights and no care."""

    def __init__(self, shop: LocalStack) -> None:
        self.client = shop.client

    def queue(self, part: str) -> str:
        urls = self.client("sqs").list_queues()["QueueUrls"]
        return str(next(url for url in urls if part in url))

    def function(self, part: str) -> str:
        listed = self.client("lambda").list_functions()["Functions"]
        return str(next(f["FunctionName"] for f in listed if part in f["FunctionName"]))

    def mapping(self, part: str) -> str:
        listed = self.client("lambda").list_event_source_mappings()
        mappings = listed["EventSourceMappings"]
        return str(next(m["UUID"] for m in mappings if part in m["FunctionArn"]))

    def rule(self, part: str) -> dict[str, str]:
        events = self.client("events")
        for bus in events.list_event_buses()["EventBuses"]:
            for rule in events.list_rules(EventBusName=bus["Name"])["Rules"]:
                if part in rule["Name"]:
                    return {"Name": rule["Name"], "EventBusName": bus["Name"]}
        raise AssertionError(part)

    def schedule(self, part: str) -> dict[str, Any]:
        scheduler = self.client("scheduler")
        listed = scheduler.list_schedules()["Schedules"]
        found = next(s for s in listed if part in s["Name"])
        whole = scheduler.get_schedule(Name=found["Name"], GroupName=found["GroupName"])
        kept = (
            "Name",
            "GroupName",
            "ScheduleExpression",
            "FlexibleTimeWindow",
            "Target",
        )
        return {name: whole[name] for name in kept}

    def table(self) -> str:
        return str(self.client("dynamodb").list_tables()["TableNames"][0])

    def role(self, part: str) -> str:
        listed = self.client("iam").list_roles()["Roles"]
        return str(next(r["RoleName"] for r in listed if part in r["RoleName"]))


def shorten_visibility(who: Saboteur) -> None:
    who.client("sqs").set_queue_attributes(
        QueueUrl=who.queue("TriageQueue"), Attributes={"VisibilityTimeout": "3"}
    )


def drop_redrive(who: Saboteur) -> None:
    who.client("sqs").set_queue_attributes(
        QueueUrl=who.queue("BillingQueue"), Attributes={"RedrivePolicy": ""}
    )


def shut_rules_out(who: Saboteur) -> None:
    who.client("sqs").set_queue_attributes(
        QueueUrl=who.queue("FailureQueuesRules"), Attributes={"Policy": ""}
    )


def disable_mapping(who: Saboteur) -> None:
    who.client("lambda").update_event_source_mapping(
        UUID=who.mapping("ReportsWorker"), Enabled=False
    )


def throttle(who: Saboteur) -> None:
    who.client("lambda").put_function_concurrency(
        FunctionName=who.function("NotifyWorker"), ReservedConcurrentExecutions=0
    )


def disable_rule(who: Saboteur) -> None:
    who.client("events").disable_rule(**who.rule("Billing"))


def disable_schedule(who: Saboteur) -> None:
    who.client("scheduler").update_schedule(
        **who.schedule("SweepSchedule"), State="DISABLED"
    )


def delete_secret(who: Saboteur) -> None:
    who.client("secretsmanager").delete_secret(
        SecretId="bellhop/github", RecoveryWindowInDays=7
    )


def forget_to_forget(who: Saboteur) -> None:
    who.client("dynamodb").update_time_to_live(
        TableName=who.table(),
        TimeToLiveSpecification={"Enabled": False, "AttributeName": "expires_at"},
    )


def take_rights_away(who: Saboteur) -> None:
    iam, role = who.client("iam"), who.role("RelayRole")
    for name in iam.list_role_policies(RoleName=role)["PolicyNames"]:
        iam.delete_role_policy(RoleName=role, PolicyName=name)


PLANTED = [
    Sabotage("queues", "visibility", shorten_visibility),
    Sabotage("queues", "redrives to no dead letters", drop_redrive),
    Sabotage("queues", "cannot be written to", shut_rules_out),
    Sabotage("functions", "is fed no more", disable_mapping),
    Sabotage("functions", "throttled to nothing", throttle),
    Sabotage("rules", "is DISABLED", disable_rule),
    Sabotage("schedules", "is DISABLED", disable_schedule),
    Sabotage("secrets", "bellhop/github", delete_secret),
    Sabotage("ledger", "never forgets", forget_to_forget),
    Sabotage("permissions", "may not do", take_rights_away),
]


def test_doctor_finds_ten_planted_faults_and_none_before(
    shop: LocalStack, home: Home
) -> None:
    code_before, before = operator.run(home, "doctor")
    assert (code_before, before) == (0, []), before

    saboteur = Saboteur(shop)
    for sabotage in PLANTED:
        sabotage.do(saboteur)
    code, findings = operator.run(home, "doctor")

    print()
    for finding in findings:
        print(f"{finding['check']}: {finding['what']}\n    {finding['mend']}")
    unseen = [
        sabotage.do.__name__
        for sabotage in PLANTED
        if not any(
            sabotage.check == finding["check"] and sabotage.word in finding["what"]
            for finding in findings
        )
    ]
    assert code == 1
    assert unseen == []
    assert len(findings) == len(PLANTED), "a finding that nobody planted"
    assert all(finding["mend"] for finding in findings)
