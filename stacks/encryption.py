"""One customer managed key for everything at rest, and who may use it for what."""

from __future__ import annotations

from aws_cdk import RemovalPolicy, Stack
from aws_cdk import aws_iam as iam
from aws_cdk import aws_kms as kms
from constructs import Construct

# What a caller of each service needs of the key. ``kms:ReEncrypt*`` is spelled out:
# a wildcard here would also allow whatever AWS adds to the name.
_DYNAMODB = (
    "kms:Decrypt",
    "kms:DescribeKey",
    "kms:Encrypt",
    "kms:GenerateDataKey",
    "kms:ReEncryptFrom",
    "kms:ReEncryptTo",
)
_READ = ("kms:Decrypt",)
_WRITE = ("kms:Decrypt", "kms:GenerateDataKey")


class Encryption(Construct):
    """The key. Services reach it by its policy, our roles by their own.

    A service may use it only on behalf of this stack's resources: each
    statement holds their account and the names CloudFormation gives them.
    (Arns by reference would be circular: the resources need the key first.)
    """

    def __init__(self, scope: Construct, id: str) -> None:
        """Make the key; it outlives the stack, as does what it encrypts."""
        super().__init__(scope, id)
        self._stack = Stack.of(self)
        self.key = kms.Key(
            self,
            "Key",
            description="Bellhop: ledger, payloads, queues, secrets, logs and alarms",
            enable_key_rotation=True,
            policy=iam.PolicyDocument(
                statements=[
                    self._root(),
                    self._logs(),
                    self._events(),
                    self._alarms(),
                    self._lambda(),
                ]
            ),
            removal_policy=RemovalPolicy.RETAIN_ON_UPDATE_OR_DELETE,
        )

    def allow_ledger(self, role: iam.IRole) -> None:
        """Let ``role`` read and write the table, and read its stream."""
        self._allow(role, "dynamodb", _DYNAMODB)

    def allow_send(self, role: iam.IRole) -> None:
        """Let ``role`` write to our queues."""
        self._allow(role, "sqs", _WRITE)

    def allow_publish(self, role: iam.IRole) -> None:
        """Let ``role`` write to our topics."""
        self._allow(role, "sns", _WRITE)

    def allow_receive(self, role: iam.IRole) -> None:
        """Let ``role`` read from our queues."""
        self._allow(role, "sqs", _READ)

    def allow_objects(self, role: iam.IRole, *, write: bool) -> None:
        """Let ``role`` read objects; or write them, which in parts reads them too."""
        self._allow(role, "s3", _WRITE if write else _READ)

    def allow_secrets(self, role: iam.IRole) -> None:
        """Let ``role`` read secrets that lie under the key."""
        self._allow(role, "secretsmanager", _READ)

    def admit_scheduler(self, role: iam.IRole) -> None:
        """Name a schedule's role in the key's own policy too.

        A schedule that cannot write to its failure queue loses its tick without
        a word; only a metric tells.
        """
        self.key.add_to_resource_policy(
            iam.PolicyStatement(
                sid="SchedulerRoles",
                principals=[iam.ArnPrincipal(role.role_arn)],
                actions=list(_WRITE),
                resources=["*"],
                conditions={"StringEquals": {"kms:ViaService": self._service("sqs")}},
            )
        )

    def _allow(self, role: iam.IRole, service: str, actions: tuple[str, ...]) -> None:
        role.add_to_principal_policy(
            iam.PolicyStatement(
                actions=list(actions),
                resources=[self.key.key_arn],
                conditions={"StringEquals": {"kms:ViaService": self._service(service)}},
            )
        )

    def _service(self, service: str) -> str:
        return f"{service}.{self._stack.region}.amazonaws.com"

    def _ours(self, service: str, resource: str) -> str:
        """Return the arns of this stack's own; names begin with the stack's."""
        at = f"{self._stack.region}:{self._stack.account}"
        return f"arn:{self._stack.partition}:{service}:{at}:{resource}"

    def _root(self) -> iam.PolicyStatement:
        """The account's own policies decide; without this nobody could ever."""
        return iam.PolicyStatement(
            sid="Root",
            principals=[iam.AccountRootPrincipal()],
            actions=["kms:*"],
            resources=["*"],
        )

    def _logs(self) -> iam.PolicyStatement:
        """CloudWatch Logs tells no SourceArn; the log group is in the context."""
        groups = self._ours("logs", f"log-group:{self._stack.stack_name}-*")
        return iam.PolicyStatement(
            sid="Logs",
            principals=[iam.ServicePrincipal(self._service("logs"))],
            actions=[
                "kms:Decrypt",
                "kms:DescribeKey",
                "kms:Encrypt",
                "kms:GenerateDataKey",
                "kms:GenerateDataKeyWithoutPlaintext",
                "kms:ReEncryptFrom",
                "kms:ReEncryptTo",
            ],
            resources=["*"],
            conditions={"ArnLike": {"kms:EncryptionContext:aws:logs:arn": groups}},
        )

    def _events(self) -> iam.PolicyStatement:
        """Our rules write to the agents' queues and to the rules' failure queue."""
        # rule/NAME on the default bus, rule/BUS/NAME on any other.
        rules = self._ours("events", f"rule/*{self._stack.stack_name}-*")
        return self._service_writes("Events", "events", rules)

    def _alarms(self) -> iam.PolicyStatement:
        alarms = self._ours("cloudwatch", f"alarm:{self._stack.stack_name}-*")
        return self._service_writes("Alarms", "cloudwatch", alarms)

    def _lambda(self) -> iam.PolicyStatement:
        """Lambda reads the filters of its own event source mappings."""
        mappings = self._ours("lambda", "event-source-mapping:*")
        return self._service_writes("Lambda", "lambda", mappings)

    def _service_writes(self, sid: str, service: str, arns: str) -> iam.PolicyStatement:
        return iam.PolicyStatement(
            sid=sid,
            principals=[iam.ServicePrincipal(f"{service}.amazonaws.com")],
            actions=list(_WRITE),
            resources=["*"],
            conditions={
                "StringEquals": {"aws:SourceAccount": self._stack.account},
                "ArnLike": {"aws:SourceArn": arns},
            },
        )
