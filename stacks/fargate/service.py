"""An agent's service: its containers poll the queue and run what a function would."""

from __future__ import annotations

from aws_cdk import Stack
from aws_cdk import aws_ecs as ecs
from aws_cdk import aws_logs as logs
from constructs import Construct

from lambdas.shared.fleet import Agent
from stacks import nag, packaging
from stacks.fargate.containers import Containers
from stacks.fargate.image import USER
from stacks.fargate.scaling import Scaling
from stacks.function import make_log_group
from stacks.work import Places, Worker

# ECS ends what has not stopped by itself after that; 120 is its most.
_STOP_SECONDS = 120

# Inside the container, where alone the worker answers. There is no curl in the image;
# and http.client, because urllib would obey a proxy's variable.
_ASK_HEALTH = (
    "import http.client as h, sys;"
    "c = h.HTTPConnection('127.0.0.1', 8080, timeout=8);"
    "c.request('GET', '/healthz');"
    "sys.exit(c.getresponse().status != 200)"
)

# The only place that a container can write to; it goes with the container.
_SCRATCH = "/tmp"  # noqa: S108  a volume of its own

_ARCHITECTURES = {"arm64": "ARM64", "x86_64": "X86_64"}

_Task = ecs.CfnTaskDefinition


class PollingWorker(Worker):
    """A worker that polls its queue: containers, each with one run at a time."""

    def __init__(
        self,
        scope: Construct,
        id: str,
        *,
        agent: Agent,
        containers: Containers,
        places: Places,
    ) -> None:
        """Make the service, and what decides how many containers it has."""
        super().__init__(scope, id, agent=agent, places=places)
        self._containers = containers
        self.log_group = make_log_group(self, "Logs", encryption=places.encryption)
        self.log_group.grant_write(containers.starter)
        self.role = containers.task_role(self, "Role")
        self.let_work(self.role)
        containers.allow_protection(self.role)
        self.service = self._make_service(self._make_task())
        Scaling(
            self,
            "Scaling",
            cluster=containers.cluster,
            service=self.service,
            queue=self.queue,
            agent=agent,
        )

    @property
    def counted_under(self) -> dict[str, str]:
        """The dimensions that ECS counts its containers under."""
        return {
            "ClusterName": self._containers.cluster.ref,
            "ServiceName": self.service.attr_name,
        }

    def _make_task(self) -> ecs.CfnTaskDefinition:
        task = _Task(
            self,
            "Task",
            requires_compatibilities=["FARGATE"],
            network_mode="awsvpc",
            cpu=str(self.agent.cpu),
            memory=str(self.agent.memory_mb),
            runtime_platform=_Task.RuntimePlatformProperty(
                cpu_architecture=_ARCHITECTURES[packaging.AWS.architecture],
                operating_system_family="LINUX",
            ),
            task_role_arn=self.role.role_arn,
            execution_role_arn=self._containers.starter.role_arn,
            container_definitions=[self._container()],
            volumes=[_Task.VolumeProperty(name="scratch")],
        )
        nag.accept(
            task,
            "ECS2",
            because="The variables are names and addresses; secrets are read by name"
            " when an agent asks for one.",
        )
        return task

    def _container(self) -> ecs.CfnTaskDefinition.ContainerDefinitionProperty:
        return _Task.ContainerDefinitionProperty(
            name="worker",
            image=self._containers.image.image_uri,
            essential=True,
            user=USER,
            readonly_root_filesystem=True,
            privileged=False,
            mount_points=[
                _Task.MountPointProperty(
                    source_volume="scratch", container_path=_SCRATCH, read_only=False
                )
            ],
            linux_parameters=_Task.LinuxParametersProperty(
                # Reaps what an agent forks and forgets, and passes signals on.
                init_process_enabled=True,
                capabilities=_Task.KernelCapabilitiesProperty(drop=["ALL"]),
            ),
            environment=[
                _Task.KeyValuePairProperty(name=name, value=value)
                for name, value in sorted(self._environment().items())
            ],
            stop_timeout=_STOP_SECONDS,
            health_check=_Task.HealthCheckProperty(
                command=["CMD", "python", "-c", _ASK_HEALTH],
                interval=30,
                timeout=10,
                retries=3,
                start_period=60,
            ),
            log_configuration=self._logging(self.log_group),
        )

    def _environment(self) -> dict[str, str]:
        # A function is told its region by Lambda.
        region = {"AWS_DEFAULT_REGION": Stack.of(self).region}
        return {**self.agent.environment, **region, **self.settings.to_env()}

    def _logging(
        self, group: logs.LogGroup
    ) -> ecs.CfnTaskDefinition.LogConfigurationProperty:
        return _Task.LogConfigurationProperty(
            log_driver="awslogs",
            options={
                "awslogs-group": group.log_group_name,
                "awslogs-region": Stack.of(self).region,
                "awslogs-stream-prefix": self.agent.name,
                # A log that is out of reach must not hold up the heartbeat.
                "mode": "non-blocking",
                "max-buffer-size": "25m",
            },
        )

    def _make_service(self, task: ecs.CfnTaskDefinition) -> ecs.CfnService:
        network = self._containers.network
        service = ecs.CfnService(
            self,
            "Service",
            cluster=self._containers.cluster.ref,
            task_definition=task.ref,
            # No desired count: the first deployment starts one, which shows that the
            # image runs; from then on the number is the scaling's to say.
            capacity_provider_strategy=[
                ecs.CfnService.CapacityProviderStrategyItemProperty(
                    capacity_provider="FARGATE_SPOT" if self.agent.spot else "FARGATE",
                    weight=1,
                )
            ],
            platform_version="LATEST",
            network_configuration=ecs.CfnService.NetworkConfigurationProperty(
                awsvpc_configuration=ecs.CfnService.AwsVpcConfigurationProperty(
                    subnets=network.subnets,
                    security_groups=[network.security_group.attr_group_id],
                    assign_public_ip="ENABLED" if network.public_ip else "DISABLED",
                )
            ),
            deployment_configuration=ecs.CfnService.DeploymentConfigurationProperty(
                # Never more at once than max_concurrency: the old ones make room.
                minimum_healthy_percent=0,
                maximum_percent=100,
                deployment_circuit_breaker=(
                    ecs.CfnService.DeploymentCircuitBreakerProperty(
                        enable=True, rollback=True
                    )
                ),
            ),
            # It would move a run to balance the zones.
            availability_zone_rebalancing="DISABLED",
            enable_execute_command=False,
            propagate_tags="SERVICE",
        )
        # ECS tries the roles when the service is made, and the way out when it pulls
        # the image: failures of the first minute would take the whole stack back.
        shared = self._containers
        service.node.add_dependency(
            self.role, shared.starter, shared.providers, shared.network
        )
        return service
