"""Workers that poll: their containers, their roles, and how many of them there are."""

from __future__ import annotations

import copy
import json
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from itertools import pairwise
from typing import Any

import pytest

from stacks.fargate.scaling import MOST_STEPS, sizes_to
from tests.infra import rules
from tests.infra.cloudwatch.alarms import SCALING, Alarm, Metric, read, telling
from tests.infra.cloudwatch.states import State
from tests.infra.template import Resource, Template, referred, shown

AGENTS = ("digger", "night-shift", "researcher")
HEARTBEATS = {"digger": 30, "night-shift": 30, "researcher": 20}
MOST = {"digger": 10, "night-shift": 1, "researcher": 40}


def _variables(container: dict[str, Any]) -> dict[str, Any]:
    return {each["Name"]: each["Value"] for each in container["Environment"]}


def _task(template: Template, agent: str) -> Resource:
    (found,) = [
        template[task]
        for task, container in template.containers().items()
        if _variables(container)["AGENT_NAME"] == agent
    ]
    return found


def _container(template: Template, agent: str) -> dict[str, Any]:
    return template.containers()[_task(template, agent).id]


def _service(template: Template, agent: str) -> Resource:
    task = _task(template, agent).id
    (found,) = [
        each
        for each in template.all("ECS::Service")
        if referred(each.of("TaskDefinition")) == task
    ]
    return found


def _queue(template: Template, agent: str) -> Resource:
    return template[referred(_variables(_container(template, agent))["QUEUE_URL"])]


def _role(template: Template, agent: str) -> str:
    return referred(_task(template, agent).of("TaskRoleArn"))


@pytest.mark.parametrize("agent", AGENTS)
def test_its_message_is_hidden_for_three_heartbeats(
    hours: Template, agent: str
) -> None:
    assert _queue(hours, agent).of("VisibilityTimeout") == 3 * HEARTBEATS[agent]


def test_lambda_calls_none_of_them(hours: Template) -> None:
    (mapping,) = hours.mappings(streams=False)
    (worker,) = hours.functions("worker")

    assert worker.of("Environment.Variables.AGENT_NAME") == "triage"
    assert referred(mapping.of("FunctionName")) == worker.id


def test_a_fleet_without_them_has_neither_cluster_nor_network(large: Template) -> None:
    kinds = {each.type.split("::")[1] for each in large.resources()}

    assert not kinds & {"ECS", "EC2", "ApplicationAutoScaling"}


@pytest.mark.parametrize("agent", AGENTS)
def test_container_is_nobody_and_writes_to_its_own_scratch_alone(
    hours: Template, agent: str
) -> None:
    task, container = _task(hours, agent), _container(hours, agent)

    assert container["User"] == "1000:1000"
    assert container["ReadonlyRootFilesystem"] is True
    assert container["Privileged"] is False
    assert container["LinuxParameters"]["Capabilities"] == {"Drop": ["ALL"]}
    assert container["LinuxParameters"]["InitProcessEnabled"] is True
    (mount,) = container["MountPoints"]
    assert (mount["ContainerPath"], mount["ReadOnly"]) == ("/tmp", False)  # noqa: S108
    # Nothing but a name: a disk of the container's own, which goes with it.
    assert task.of("Volumes") == [{"Name": mount["SourceVolume"]}]
    assert "PortMappings" not in container


def test_container_has_the_size_that_was_asked_for(hours: Template) -> None:
    sizes = {
        agent: (_task(hours, agent).of("Cpu"), _task(hours, agent).of("Memory"))
        for agent in AGENTS
    }

    assert sizes["digger"] == ("256", "512")
    assert sizes["researcher"] == ("1024", "4096")
    for agent in AGENTS:
        platform = _task(hours, agent).of("RuntimePlatform")
        assert platform == {
            "CpuArchitecture": "ARM64",
            "OperatingSystemFamily": "LINUX",
        }


@pytest.mark.parametrize("agent", AGENTS)
def test_container_has_two_minutes_to_stop(hours: Template, agent: str) -> None:
    """ECS's most; grace_seconds may be 110 of them."""
    assert _container(hours, agent)["StopTimeout"] == 120


def test_container_is_told_what_a_function_would_be(hours: Template) -> None:
    researcher = _variables(_container(hours, "researcher"))
    function = hours.function("worker").of("Environment.Variables")

    assert set(researcher) == set(function) | {"AWS_DEFAULT_REGION", "MODEL"}
    assert researcher["LEDGER_TABLE"] == function["LEDGER_TABLE"]
    assert researcher["MODEL"] == "large"


def test_all_run_the_one_image_that_the_deployment_builds(hours: Template) -> None:
    images = {shown(each["Image"]) for each in hours.containers().values()}

    (image,) = images
    assert "container-assets" in image


@pytest.mark.parametrize("agent", AGENTS)
def test_log_forgets_and_never_holds_up_the_worker(hours: Template, agent: str) -> None:
    logging = _container(hours, agent)["LogConfiguration"]
    group = hours[referred(logging["Options"]["awslogs-group"])]
    starter = referred(_task(hours, agent).of("ExecutionRoleArn"))

    assert group.of("RetentionInDays") == 90
    assert logging["Options"]["mode"] == "non-blocking"
    assert hours.may(starter, "logs:PutLogEvents", f"${{{group.id}.Arn}}")


@contextmanager
def _answering(status: int) -> Iterator[int]:
    """Answer ``/healthz`` with ``status``; yields the port."""

    class Answer(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(status if self.path == "/healthz" else 400)
            self.end_headers()

        def log_message(self, *_: Any) -> None:
            pass

    with HTTPServer(("127.0.0.1", 0), Answer) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield server.server_address[1]
        server.shutdown()


@pytest.mark.parametrize(
    ("status", "is_well"), [(200, True), (503, False), (404, False)]
)
def test_health_check_believes_the_worker(
    hours: Template, status: int, is_well: bool
) -> None:
    """The check's own words are run, with the port of this test in them."""
    check = _container(hours, "digger")["HealthCheck"]
    kind, python, *arguments = check["Command"]

    with _answering(status) as port:
        ended = _check(arguments, port)

    assert (kind, python) == ("CMD", "python")
    assert (ended == 0) is is_well
    assert check["Timeout"] < check["Interval"]


def test_health_check_fails_where_nobody_answers(hours: Template) -> None:
    _, _, *arguments = _container(hours, "digger")["HealthCheck"]["Command"]

    assert _check(arguments, 1) != 0


def _check(arguments: list[str], port: int) -> int:
    told = [each.replace("8080", str(port)) for each in arguments]
    assert told != arguments
    done = subprocess.run([sys.executable, *told], capture_output=True, check=False)
    return done.returncode


def test_worker_answers_where_the_health_check_asks(hours: Template) -> None:
    from lambdas.worker.polling.__main__ import ADDRESS

    host, _, port = ADDRESS.rpartition(":")
    command = " ".join(_container(hours, "digger")["HealthCheck"]["Command"])

    assert f"'{host}', {port}" in command


def test_roles_may_do_the_agents_work_and_no_other(hours: Template) -> None:
    function = hours.role_of(hours.function("worker").id)
    protect = {"ecs:GetTaskProtection", "ecs:UpdateTaskProtection"}
    for agent in AGENTS:
        role, queue = _role(hours, agent), f"${{{_queue(hours, agent).id}.Arn}}"
        doings = hours.doings(role)

        # What one that Lambda calls may do, but for its log, which ECS writes.
        others = {each for each in hours.doings(function) if "logs:" not in each}
        own = {"secretsmanager:GetSecretValue"} if agent == "researcher" else set()
        assert doings == others | protect | own
        for action in ("ReceiveMessage", "SendMessage", "DeleteMessage"):
            assert hours.things(role, f"sqs:{action}") == {queue}
    assert hours.may(_role(hours, "researcher"), "s3:GetObject", "arn:aws:s3:::b/key")
    assert not hours.may(_role(hours, "digger"), "s3:GetObject", "arn:aws:s3:::b/key")


@pytest.mark.parametrize("agent", AGENTS)
def test_worker_may_protect_tasks_of_its_own_cluster(
    hours: Template, agent: str
) -> None:
    cluster = hours.only("ECS::Cluster").id
    (tasks,) = hours.things(_role(hours, agent), "ecs:UpdateTaskProtection")

    assert tasks.endswith(f":task/${{{cluster}}}/*")


def test_starter_pulls_the_image_and_writes_logs(hours: Template) -> None:
    """ECS acts as it before there is a container; the agent's code never does."""
    starters = {
        referred(each.of("ExecutionRoleArn"))
        for each in hours.all("ECS::TaskDefinition")
    }

    (starter,) = starters
    assert starter not in {_role(hours, agent) for agent in AGENTS}
    assert hours.doings(starter) == {
        "ecr:BatchCheckLayerAvailability",
        "ecr:BatchGetImage",
        "ecr:GetAuthorizationToken",
        "ecr:GetDownloadUrlForLayer",
        "logs:CreateLogStream",
        "logs:PutLogEvents",
    }
    (repository,) = hours.things(starter, "ecr:BatchGetImage")
    assert ":repository/cdk-" in repository
    assert hours.things(starter, "ecr:GetAuthorizationToken") == {"*"}


def test_a_wildcard_beside_the_token_is_found(hours: Template) -> None:
    """The one statement that takes no resource excuses no other action."""
    broken = copy.deepcopy(hours)
    for policy in broken.all("IAM::Policy"):
        for statement in policy.of("PolicyDocument.Statement"):
            if statement["Action"] == "ecr:GetAuthorizationToken":
                statement["Action"] = ["ecr:GetAuthorizationToken", "ecr:PutImage"]

    assert rules.unlimited_grants(hours) == []
    assert rules.unlimited_grants(broken)


def test_a_local_variable_in_a_container_is_found(hours: Template) -> None:
    broken = copy.deepcopy(hours)
    for container in broken.containers().values():
        container["Environment"].append({"Name": "BELLHOP_KILL_AT", "Value": "1"})

    assert rules.local_variables(hours) == []
    assert len(rules.local_variables(broken)) == len(AGENTS)


@pytest.mark.parametrize("agent", AGENTS)
def test_deployment_keeps_to_the_cap_and_takes_itself_back(
    hours: Template, agent: str
) -> None:
    service = _service(hours, agent)
    deployment = service.of("DeploymentConfiguration")

    assert deployment["MaximumPercent"] == 100
    assert deployment["DeploymentCircuitBreaker"] == {"Enable": True, "Rollback": True}
    # A number here would overrule the scaling at every deployment.
    assert service.of("DesiredCount") is None
    # It would end a run in order to move it.
    assert service.of("AvailabilityZoneRebalancing") == "DISABLED"
    assert service.of("EnableExecuteCommand") is False


def test_spot_is_by_choice(hours: Template) -> None:
    providers = {
        agent: _service(hours, agent).of("CapacityProviderStrategy")[0][
            "CapacityProvider"
        ]
        for agent in AGENTS
    }

    assert providers == {
        "researcher": "FARGATE_SPOT",
        "digger": "FARGATE",
        "night-shift": "FARGATE",
    }
    association = hours.only("ECS::ClusterCapacityProviderAssociations")
    assert set(association.of("CapacityProviders")) == set(providers.values())


def test_nobody_can_call_a_container(hours: Template) -> None:
    """Public subnets, because a NAT gateway costs more than all of an idle fleet."""
    group = hours.only("EC2::SecurityGroup")

    assert group.of("SecurityGroupIngress") is None
    assert not hours.all("EC2::SecurityGroupIngress")
    assert not hours.all("EC2::NatGateway")
    for agent in AGENTS:
        network = _service(hours, agent).of("NetworkConfiguration.AwsvpcConfiguration")
        assert [referred(each) for each in network["SecurityGroups"]] == [group.id]
        assert network["AssignPublicIp"] == "ENABLED"
        assert len(network["Subnets"]) == 2


def test_table_and_bucket_are_reached_without_the_internet(hours: Template) -> None:
    services = {
        shown(each.of("ServiceName")).rpartition(".")[2]
        for each in hours.all("EC2::VPCEndpoint")
    }

    assert services == {"dynamodb", "s3"}


# ── How many there are ───────────────────────────────────────────────────────


def _alarm(template: Template, agent: str, policy: str) -> Alarm:
    """Return the alarm that calls one of an agent's two policies."""
    queue = f"${{{_queue(template, agent).id}.QueueName}}"
    for each in template.all("CloudWatch::Alarm"):
        called = template[referred(each.of("AlarmActions"))]
        alarm = read(each)
        names = {m.metric.dimensions[0][1] for m in alarm.watches.values()}
        if called.type != SCALING or called.of("PolicyName") != policy:
            continue
        if queue in names:
            return alarm
    raise AssertionError(f"{agent} has no alarm for {policy}")


def _size(template: Template, alarm: Alarm, backlog: int) -> int:
    """Return what Application Auto Scaling would set, by its documented steps."""
    policy = template[referred(template[alarm.id].of("AlarmActions"))]
    how = policy.of("StepScalingPolicyConfiguration")
    assert how["AdjustmentType"] == "ExactCapacity"
    beyond = backlog - alarm.threshold
    (size,) = [
        step["ScalingAdjustment"]
        for step in how["StepAdjustments"]
        if step.get("MetricIntervalLowerBound", float("-inf")) <= beyond
        and beyond < step.get("MetricIntervalUpperBound", float("inf"))
    ]
    target = template[referred(policy.of("ScalingTargetId"))]
    assert size <= target.of("MaxCapacity")
    return max(int(size), int(target.of("MinCapacity")))


def _counts(alarm: Alarm, waiting: int, working: int) -> dict[Metric, list[float]]:
    counted = {
        "ApproximateNumberOfMessagesVisible": [float(waiting)],
        "ApproximateNumberOfMessagesNotVisible": [float(working)],
    }
    return {
        watch.metric: counted[watch.metric.name] for watch in alarm.watches.values()
    }


@pytest.mark.parametrize("agent", AGENTS)
def test_from_nothing_one_message_starts_one_container(
    hours: Template, agent: str
) -> None:
    alarm = _alarm(hours, agent, "Busy")

    before = alarm.period(_counts(alarm, 0, 0))
    after = alarm.period(_counts(alarm, 1, 0))

    assert (before, after) == (State.OK, State.ALARM)
    assert _size(hours, alarm, 1) == 1


@pytest.mark.parametrize("agent", AGENTS)
def test_a_container_at_work_is_always_counted(hours: Template, agent: str) -> None:
    """Its message is hidden, and the only one: there is still one container for it."""
    busy, idle = _alarm(hours, agent, "Busy"), _alarm(hours, agent, "Idle")

    for _ in range(10):
        assert busy.period(_counts(busy, 0, 1)) is State.ALARM
        assert idle.period(_counts(idle, 0, 1)) is State.OK


@pytest.mark.parametrize("agent", AGENTS)
def test_without_work_there_are_none_after_five_minutes(
    hours: Template, agent: str
) -> None:
    alarm = _alarm(hours, agent, "Idle")

    # It looks back at minutes before the first, which count as idle: fill them.
    for _ in range(7):
        alarm.period(_counts(alarm, 1, 0))
    states = [alarm.period(_counts(alarm, 0, 0)) for _ in range(6)]

    assert states.index(State.ALARM) == 4
    assert _size(hours, alarm, 0) == 0


@pytest.mark.parametrize("agent", AGENTS)
def test_a_queue_that_is_not_counted_any_more_counts_as_empty(
    hours: Template, agent: str
) -> None:
    """SQS stops counting a queue that nobody has touched for six hours."""
    idle, busy = _alarm(hours, agent, "Idle"), _alarm(hours, agent, "Busy")
    for _ in range(8):
        idle.period({})
        busy.period({})

    assert idle.state is State.ALARM
    assert busy.state is not State.ALARM


@pytest.mark.parametrize("agent", AGENTS)
def test_there_is_a_container_for_each_message_up_to_the_cap(
    hours: Template, agent: str
) -> None:
    alarm, most = _alarm(hours, agent, "Busy"), MOST[agent]
    sizes = [_size(hours, alarm, backlog) for backlog in range(1, 3 * most + 2)]

    for backlog, size in enumerate(sizes, start=1):
        wanted = min(backlog, most)
        assert wanted <= size <= max(wanted, round(1.5 * wanted))
    assert sizes == sorted(sizes)
    assert sizes[-1] == most
    if most <= MOST_STEPS:
        assert sizes[:most] == list(range(1, most + 1))


def test_sizes_grow_to_any_cap_within_the_steps_there_are() -> None:
    for most in range(1, 1001):
        sizes = sizes_to(most)

        assert sizes[0] == 1
        assert sizes[-1] == most
        assert all(low < high for low, high in pairwise(sizes))
        assert len(sizes) == min(most, MOST_STEPS)


def test_scaling_alarms_tell_nobody(hours: Template) -> None:
    silent = {each.id for each in hours.all("CloudWatch::Alarm")} - {
        each.id for each in telling(hours)
    }

    assert len(silent) == 2 * len(AGENTS)
    for alarm in silent:
        assert hours[alarm].of("OKActions") is None
        assert "runbooks" not in hours[alarm].of("AlarmDescription")


def test_one_container_is_kept_in_business_hours(hours: Template) -> None:
    """Where none runs, nobody would say that nothing arrives."""
    kept = {
        agent: {
            each["ScheduledActionName"]: (
                each["Schedule"],
                each["Timezone"],
                each["ScalableTargetAction"]["MinCapacity"],
            )
            for each in _target(hours, agent).of("ScheduledActions") or []
        }
        for agent in AGENTS
    }

    assert kept["digger"] == {}
    assert kept["researcher"] == {
        "Open": ("cron(0 9 ? * MON,TUE,WED,THU,FRI *)", "Europe/Berlin", 1),
        "Close": ("cron(0 18 ? * MON,TUE,WED,THU,FRI *)", "Europe/Berlin", 0),
    }
    assert kept["night-shift"] == {
        "Open": ("cron(0 22 ? * MON,FRI *)", "UTC", 1),
        "Close": ("cron(0 6 ? * TUE,SAT *)", "UTC", 0),
    }


@pytest.mark.parametrize("agent", AGENTS)
def test_there_are_never_more_than_max_concurrency(hours: Template, agent: str) -> None:
    target = _target(hours, agent)

    assert (target.of("MinCapacity"), target.of("MaxCapacity")) == (0, MOST[agent])


def _target(template: Template, agent: str) -> Resource:
    service = _service(template, agent).id
    (found,) = [
        each
        for each in template.all("ApplicationAutoScaling::ScalableTarget")
        if service in json.dumps(each.of("ResourceId"))
    ]
    return found
