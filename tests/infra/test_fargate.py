"""Workers that poll: their containers, and what those may do."""

from __future__ import annotations

import copy
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any

import pytest

from tests.infra import rules
from tests.infra.polling import (
    AGENTS,
    container_of,
    queue_of,
    role_of,
    service_of,
    task_of,
    variables,
)
from tests.infra.template import Statement, Template, referred, shown

HEARTBEATS = {"digger": 30, "night-shift": 30, "researcher": 20}


@pytest.mark.parametrize("agent", AGENTS)
def test_its_message_is_hidden_for_three_heartbeats(
    hours: Template, agent: str
) -> None:
    assert queue_of(hours, agent).of("VisibilityTimeout") == 3 * HEARTBEATS[agent]


def test_lambda_calls_none_of_them(hours: Template) -> None:
    (mapping,) = hours.mappings(streams=False)
    (worker,) = hours.functions("worker")

    assert worker.of("Environment.Variables.AGENT_NAME") == "triage"
    assert referred(mapping.of("FunctionName")) == worker.id


def test_a_fleet_without_them_has_neither_cluster_nor_network(large: Template) -> None:
    kinds = {each.type.split("::")[1] for each in large.resources()}

    assert not kinds & {"ECS", "EC2", "ApplicationAutoScaling"}


def test_each_makes_fifteen_resources_and_all_of_them_sixteen(hours: Template) -> None:
    """What docs/reference/fleet.md reckons with; an agent with one rule."""
    names = [each.id for each in hours.resources()]
    shared = [name for name in names if name.startswith(("Network", "Containers"))]

    for agent in ("Digger", "NightShift", "Researcher"):
        own = [name for name in names if name.startswith(f"Workers{agent}")]
        assert len(own) == 15
    assert len(shared) == 16


@pytest.mark.parametrize("agent", AGENTS)
def test_container_is_nobody_and_writes_to_its_own_scratch_alone(
    hours: Template, agent: str
) -> None:
    task, container = task_of(hours, agent), container_of(hours, agent)

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
        agent: (task_of(hours, agent).of("Cpu"), task_of(hours, agent).of("Memory"))
        for agent in AGENTS
    }

    assert sizes["digger"] == ("256", "512")
    assert sizes["researcher"] == ("1024", "4096")
    for agent in AGENTS:
        platform = task_of(hours, agent).of("RuntimePlatform")
        assert platform == {
            "CpuArchitecture": "ARM64",
            "OperatingSystemFamily": "LINUX",
        }


@pytest.mark.parametrize("agent", AGENTS)
def test_container_has_two_minutes_to_stop(hours: Template, agent: str) -> None:
    """ECS's most; grace_seconds may be 110 of them."""
    assert container_of(hours, agent)["StopTimeout"] == 120


def test_container_is_told_what_a_function_would_be(hours: Template) -> None:
    researcher = variables(container_of(hours, "researcher"))
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
    logging = container_of(hours, agent)["LogConfiguration"]
    group = hours[referred(logging["Options"]["awslogs-group"])]
    starter = referred(task_of(hours, agent).of("ExecutionRoleArn"))

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
    check = container_of(hours, "digger")["HealthCheck"]
    kind, python, *arguments = check["Command"]

    with _answering(status) as port:
        ended = _check(arguments, port)

    assert (kind, python) == ("CMD", "python")
    assert (ended == 0) is is_well
    assert check["Timeout"] < check["Interval"]


def test_health_check_fails_where_nobody_answers(hours: Template) -> None:
    _, _, *arguments = container_of(hours, "digger")["HealthCheck"]["Command"]

    assert _check(arguments, 1) != 0


def _check(arguments: list[str], port: int) -> int:
    told = [each.replace("8080", str(port)) for each in arguments]
    assert told != arguments
    done = subprocess.run([sys.executable, *told], capture_output=True, check=False)
    return done.returncode


def test_worker_answers_where_the_health_check_asks(hours: Template) -> None:
    from lambdas.worker.polling.__main__ import ADDRESS

    host, _, port = ADDRESS.rpartition(":")
    command = " ".join(container_of(hours, "digger")["HealthCheck"]["Command"])

    assert f"'{host}', {port}" in command


def test_roles_may_do_the_agents_work_and_no_other(hours: Template) -> None:
    function = hours.role_of(hours.function("worker").id)
    protect = {"ecs:GetTaskProtection", "ecs:UpdateTaskProtection"}
    for agent in AGENTS:
        role, queue = role_of(hours, agent), f"${{{queue_of(hours, agent).id}.Arn}}"
        doings = hours.doings(role)

        # What one that Lambda calls may do, but for its log, which ECS writes.
        others = {each for each in hours.doings(function) if "logs:" not in each}
        own = {"secretsmanager:GetSecretValue"} if agent == "researcher" else set()
        assert doings == others | protect | own
        for action in ("ReceiveMessage", "SendMessage", "DeleteMessage"):
            assert hours.things(role, f"sqs:{action}") == {queue}
    assert hours.may(role_of(hours, "researcher"), "s3:GetObject", "arn:aws:s3:::b/key")
    assert not hours.may(role_of(hours, "digger"), "s3:GetObject", "arn:aws:s3:::b/key")


@pytest.mark.parametrize("agent", AGENTS)
def test_tasks_of_this_account_alone_take_on_the_role(
    hours: Template, agent: str
) -> None:
    (body,) = hours[role_of(hours, agent)].of("AssumeRolePolicyDocument.Statement")
    trust = Statement.read(body)

    assert trust.principals == ("ecs-tasks.amazonaws.com",)
    assert trust.conditions["aws:SourceAccount"] == ("${AWS::AccountId}",)
    (source,) = trust.conditions["aws:SourceArn"]
    assert source.endswith(":ecs:${AWS::Region}:${AWS::AccountId}:*")


@pytest.mark.parametrize("agent", AGENTS)
def test_worker_may_protect_tasks_of_its_own_cluster(
    hours: Template, agent: str
) -> None:
    cluster = hours.only("ECS::Cluster").id
    (tasks,) = hours.things(role_of(hours, agent), "ecs:UpdateTaskProtection")

    assert tasks.endswith(f":task/${{{cluster}}}/*")


def test_starter_pulls_the_image_and_writes_logs(hours: Template) -> None:
    """ECS acts as it before there is a container; the agent's code never does."""
    starters = {
        referred(each.of("ExecutionRoleArn"))
        for each in hours.all("ECS::TaskDefinition")
    }

    (starter,) = starters
    assert starter not in {role_of(hours, agent) for agent in AGENTS}
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
    service = service_of(hours, agent)
    deployment = service.of("DeploymentConfiguration")

    assert deployment["MaximumPercent"] == 100
    assert deployment["DeploymentCircuitBreaker"] == {"Enable": True, "Rollback": True}
    # A number here would overrule the scaling at every deployment.
    assert service.of("DesiredCount") is None
    # It would end a run in order to move it.
    assert service.of("AvailabilityZoneRebalancing") == "DISABLED"
    assert service.of("EnableExecuteCommand") is False


@pytest.mark.parametrize("agent", AGENTS)
def test_first_container_starts_when_there_is_a_way_out(
    hours: Template, agent: str
) -> None:
    """Else it could not pull its image, and three failures take the stack back."""
    needed = {
        each.id
        for kind in (
            "EC2::Route",
            "EC2::SubnetRouteTableAssociation",
            "ECS::ClusterCapacityProviderAssociations",
        )
        for each in hours.all(kind)
    }
    policies = {
        each.id
        for each in hours.all("IAM::Policy")
        if role_of(hours, agent) in [referred(role) for role in each.of("Roles")]
    }

    assert len(needed) == 4
    assert needed | policies <= set(service_of(hours, agent).body["DependsOn"])


def test_spot_is_by_choice(hours: Template) -> None:
    providers = {
        agent: service_of(hours, agent).of("CapacityProviderStrategy")[0][
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


def test_nobody_can_call_acontainer_of(hours: Template) -> None:
    """Public subnets, because a NAT gateway costs more than all of an idle fleet."""
    group = hours.only("EC2::SecurityGroup")

    assert group.of("SecurityGroupIngress") is None
    assert not hours.all("EC2::SecurityGroupIngress")
    assert not hours.all("EC2::NatGateway")
    for agent in AGENTS:
        network = service_of(hours, agent).of(
            "NetworkConfiguration.AwsvpcConfiguration"
        )
        assert [referred(each) for each in network["SecurityGroups"]] == [group.id]
        assert network["AssignPublicIp"] == "ENABLED"
        assert len(network["Subnets"]) == 2


def test_table_and_bucket_are_reached_without_the_internet(hours: Template) -> None:
    services = {
        shown(each.of("ServiceName")).rpartition(".")[2]
        for each in hours.all("EC2::VPCEndpoint")
    }

    assert services == {"dynamodb", "s3"}
