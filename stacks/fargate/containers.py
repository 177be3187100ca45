"""What all containers of a fleet share: the cluster, the image and who starts them."""

from __future__ import annotations

from pathlib import Path

from aws_cdk import Stack
from aws_cdk import aws_ecr_assets as ecr_assets
from aws_cdk import aws_ecs as ecs
from aws_cdk import aws_iam as iam
from constructs import Construct

from stacks import nag, packaging
from stacks.fargate.network import Network

_PLATFORMS = {
    "arm64": ecr_assets.Platform.LINUX_ARM64,
    "x86_64": ecr_assets.Platform.LINUX_AMD64,
}


class Containers(Construct):
    """The cluster and the image; each agent's service is its worker's own."""

    def __init__(
        self,
        scope: Construct,
        id: str,
        *,
        network: Network,
        image: Path,
    ) -> None:
        """Make the cluster; ``image`` is built when it is deployed, not before."""
        super().__init__(scope, id)
        self.network = network
        self.cluster = ecs.CfnCluster(
            self,
            "Cluster",
            # Container Insights would cost more than an idle fleet; what it counts
            # the workers and the queues tell by themselves.
            cluster_settings=[
                ecs.CfnCluster.ClusterSettingsProperty(
                    name="containerInsights", value="disabled"
                )
            ],
        )
        nag.accept(
            self.cluster,
            "ECS4",
            because="Container Insights costs by the container; the workers' own"
            " metrics, and those of ECS for a service, are what the alarms look at.",
        )
        self.providers = ecs.CfnClusterCapacityProviderAssociations(
            self,
            "Providers",
            cluster=self.cluster.ref,
            capacity_providers=["FARGATE", "FARGATE_SPOT"],
            default_capacity_provider_strategy=[],
        )
        self.image = ecr_assets.DockerImageAsset(
            self,
            "Image",
            directory=str(image),
            platform=_PLATFORMS[packaging.AWS.architecture],
        )
        self.starter = self._make_starter()

    def task_role(self, scope: Construct, id: str) -> iam.Role:
        """Return a role that tasks of this account take on, and nobody else."""
        stack = Stack.of(self)
        at = f"{stack.region}:{stack.account}"
        return iam.Role(
            scope,
            id,
            assumed_by=iam.ServicePrincipal(
                "ecs-tasks.amazonaws.com",
                conditions={
                    "StringEquals": {"aws:SourceAccount": stack.account},
                    "ArnLike": {"aws:SourceArn": f"arn:{stack.partition}:ecs:{at}:*"},
                },
            ),
        )

    def allow_protection(self, role: iam.IRole) -> None:
        """Let ``role`` keep its own task from being scaled in while it works."""
        stack = Stack.of(self)
        at = f"arn:{stack.partition}:ecs:{stack.region}:{stack.account}"
        role.add_to_principal_policy(
            iam.PolicyStatement(
                actions=["ecs:GetTaskProtection", "ecs:UpdateTaskProtection"],
                resources=[f"{at}:task/{self.cluster.ref}/*"],
            )
        )
        cluster = stack.get_logical_id(self.cluster)
        place = f"<AWS::Region>:<AWS::AccountId>:task/<{cluster}>/*"
        nag.accept(
            role,
            f"IAM5[Resource::arn:<AWS::Partition>:ecs:{place}]",
            because="A task learns its id when it starts; only the cluster can be said"
            " beforehand.",
        )

    def _make_starter(self) -> iam.Role:
        """Make the role that ECS itself pulls the image and writes logs with."""
        # Without the conditions of a task's own role: AWS documents them for that one
        # alone, and a role that ECS could not take on would start nothing.
        role = iam.Role(
            self, "Starter", assumed_by=iam.ServicePrincipal("ecs-tasks.amazonaws.com")
        )
        role.add_to_principal_policy(
            iam.PolicyStatement(
                actions=[
                    "ecr:BatchCheckLayerAvailability",
                    "ecr:BatchGetImage",
                    "ecr:GetDownloadUrlForLayer",
                ],
                resources=[self.image.repository.repository_arn],
            )
        )
        role.add_to_principal_policy(
            iam.PolicyStatement(
                actions=["ecr:GetAuthorizationToken"],
                # AWS knows no resource for it: a token is of a whole registry.
                resources=["*"],
            )
        )
        nag.accept(
            role,
            "IAM5[Resource::*]",
            because="ecr:GetAuthorizationToken takes no resource; what the token opens"
            " is limited by the statement beside it.",
        )
        return role
