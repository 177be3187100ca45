"""Where events are written down, and where what is too large for a row lies."""

from __future__ import annotations

from typing import cast

from aws_cdk import Duration, RemovalPolicy, Stack
from aws_cdk import aws_dynamodb as dynamodb
from aws_cdk import aws_iam as iam
from aws_cdk import aws_s3 as s3
from constructs import Construct

from lambdas.shared.fleet.model import DLQ_RETENTION_DAYS
from stacks import nag
from stacks.encryption import Encryption

# The prefixes of the payload bucket. AWS fixes the last: Lambda writes what a
# stream mapping lost under aws/lambda/<mapping>/ and offers no choice.
BODIES, RESULTS, LOST_BATCHES = "events", "results", "aws/lambda"
FEEDS = "calendars"


class Ledger(Construct):
    """The table and the payload bucket, both retained whatever becomes of the stack."""

    def __init__(
        self, scope: Construct, id: str, *, encryption: Encryption, ledger_days: int
    ) -> None:
        """Make both; objects outlive every row and dead letter that names them."""
        super().__init__(scope, id)
        self._encryption = encryption
        self.table = self._make_table()
        # A row expires ledger_days after its event came; the last dead letter that
        # could still ask for the object is two weeks younger. One day for the clock.
        self.bucket = self._make_bucket(days=ledger_days + DLQ_RETENTION_DAYS + 1)

    def allow(
        self,
        role: iam.IRole,
        *actions: str,
        index: str | None = None,
        audits: bool = False,
    ) -> None:
        """Let ``role`` do ``actions`` (``PutItem``) on the table, or on one index.

        No role changes or deletes an entry of the audit; who ``audits`` adds some.
        """
        arn = self.table.table_arn
        changes = {"PutItem", "UpdateItem", "DeleteItem"} & set(actions)
        if audits:
            changes -= {"PutItem"}
        if changes:
            role.add_to_principal_policy(
                iam.PolicyStatement(
                    effect=iam.Effect.DENY,
                    actions=[f"dynamodb:{action}" for action in sorted(changes)],
                    resources=[arn],
                    conditions={
                        "ForAnyValue:StringLike": {"dynamodb:LeadingKeys": ["audit#*"]}
                    },
                )
            )
        role.add_to_principal_policy(
            iam.PolicyStatement(
                actions=[f"dynamodb:{action}" for action in actions],
                resources=[f"{arn}/index/{index}" if index else arn],
            )
        )
        self._encryption.allow_ledger(role)

    def allow_stream(self, role: iam.IRole) -> None:
        """Let ``role`` read what was written, in order."""
        arn = self.table.table_stream_arn
        role.add_to_principal_policy(
            iam.PolicyStatement(
                actions=[
                    "dynamodb:DescribeStream",
                    "dynamodb:GetRecords",
                    "dynamodb:GetShardIterator",
                    "dynamodb:ListStreams",
                ],
                resources=[arn or ""],
            )
        )

    def allow_lost_batches(self, role: iam.IRole) -> None:
        """Let Lambda, as ``role``, keep the batches that a stream mapping gave up."""
        self.allow_put(role, LOST_BATCHES)
        self._allow_list(role)

    def allow_put(self, role: iam.IRole, *prefixes: str) -> None:
        """Let ``role`` write objects under ``prefixes``."""
        self._allow_objects(role, "s3:PutObject", prefixes)
        self._encryption.allow_objects(role, write=True)

    def allow_get(self, role: iam.IRole, *prefixes: str) -> None:
        """Let ``role`` read objects under ``prefixes``, and see that one is gone."""
        self._allow_objects(role, "s3:GetObject", prefixes)
        # Who may not list is told "access denied" of an object that is missing.
        self._allow_list(role)
        self._encryption.allow_objects(role, write=False)

    def _allow_list(self, role: iam.IRole) -> None:
        role.add_to_principal_policy(
            iam.PolicyStatement(
                actions=["s3:ListBucket"], resources=[self.bucket.bucket_arn]
            )
        )

    def _allow_objects(
        self, role: iam.IRole, action: str, prefixes: tuple[str, ...]
    ) -> None:
        arns = [self.bucket.arn_for_objects(f"{prefix}/*") for prefix in prefixes]
        role.add_to_principal_policy(
            iam.PolicyStatement(actions=[action], resources=arns)
        )
        for prefix in prefixes:
            nag.accept(
                role,
                f"IAM5[Resource::<{self._bucket_name_in_template}.Arn>/{prefix}/*]",
                because="Objects are named after their event; only the prefix can be"
                " said beforehand.",
            )

    @property
    def _bucket_name_in_template(self) -> str:
        bucket = cast("s3.CfnBucket", self.bucket.node.default_child)
        return Stack.of(self).get_logical_id(bucket)

    def _make_table(self) -> dynamodb.Table:
        table = dynamodb.Table(
            self,
            "Table",
            partition_key=_text("pk"),
            sort_key=_text("sk"),
            billing_mode=dynamodb.BillingMode.PAY_PER_REQUEST,
            encryption=dynamodb.TableEncryption.CUSTOMER_MANAGED,
            encryption_key=self._encryption.key,
            time_to_live_attribute="expires_at",
            stream=dynamodb.StreamViewType.NEW_IMAGE,
            point_in_time_recovery_specification=dynamodb.PointInTimeRecoverySpecification(
                point_in_time_recovery_enabled=True
            ),
            deletion_protection=True,
            removal_policy=RemovalPolicy.RETAIN_ON_UPDATE_OR_DELETE,
        )
        table.add_global_secondary_index(
            index_name="by-time",
            partition_key=_text("accepted"),
            sort_key=_text("received_at"),
            projection_type=dynamodb.ProjectionType.KEYS_ONLY,
        )
        table.add_global_secondary_index(
            index_name="by-state",
            partition_key=_text("attention"),
            sort_key=dynamodb.Attribute(
                name="finished_at", type=dynamodb.AttributeType.NUMBER
            ),
            projection_type=dynamodb.ProjectionType.KEYS_ONLY,
        )
        return table

    def _make_bucket(self, *, days: int) -> s3.Bucket:
        bucket = s3.Bucket(
            self,
            "Payloads",
            encryption=s3.BucketEncryption.KMS,
            encryption_key=self._encryption.key,
            # One data key for many objects: a busy source would else pay KMS for each.
            bucket_key_enabled=True,
            enforce_ssl=True,
            minimum_tls_version=1.2,
            block_public_access=s3.BlockPublicAccess.BLOCK_ALL,
            object_ownership=s3.ObjectOwnership.BUCKET_OWNER_ENFORCED,
            # Not versioned: a key holds the hash of what it names, so nothing is
            # overwritten by anything else, and old versions would outlive the rule.
            # Large checkpoints alone are written over, on purpose and in turns.
            versioned=False,
            lifecycle_rules=[
                s3.LifecycleRule(
                    id="OutlivesLedger",
                    expiration=Duration.days(days),
                    abort_incomplete_multipart_upload_after=Duration.days(7),
                )
            ],
            removal_policy=RemovalPolicy.RETAIN_ON_UPDATE_OR_DELETE,
        )
        nag.accept(
            bucket,
            "S1",
            because="Only our functions' roles reach the bucket, and the ledger records"
            " each event they touch; a log bucket would hold its keys a second time.",
        )
        return bucket


def _text(name: str) -> dynamodb.Attribute:
    return dynamodb.Attribute(name=name, type=dynamodb.AttributeType.STRING)
