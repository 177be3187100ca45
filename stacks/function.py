"""A Lambda function as all of ours are; what it may do is added by who knows."""

from __future__ import annotations

from collections.abc import Mapping

from aws_cdk import Duration, RemovalPolicy
from aws_cdk import aws_iam as iam
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_logs as logs
from constructs import Construct

from lambdas.shared.senders import SenderTraits
from lambdas.shared.settings import Settings
from stacks import nag, packaging
from stacks.code import Assets
from stacks.encryption import Encryption

LOG_RETENTION = logs.RetentionDays.THREE_MONTHS


class Function(Construct):
    """A function with a role and a log group of its own.

    The role starts with nothing but that log group.
    """

    def __init__(
        self,
        scope: Construct,
        id: str,
        *,
        name: str,
        code: lambda_.Code,
        settings: Settings,
        encryption: Encryption,
        timeout_seconds: int,
        memory_mb: int,
        environment: Mapping[str, str] | None = None,
        reserved: int | None = None,
    ) -> None:
        """Make ``lambdas.<name>.handler.handle``; ``settings`` overrule all else."""
        super().__init__(scope, id)
        self.role = iam.Role(
            self, "Role", assumed_by=iam.ServicePrincipal("lambda.amazonaws.com")
        )
        self.log_group = log_group = make_log_group(self, "Logs", encryption=encryption)
        log_group.grant_write(self.role)
        self.function = lambda_.Function(
            self,
            "Function",
            runtime=lambda_.Runtime(
                f"python{packaging.AWS.python}", lambda_.RuntimeFamily.PYTHON
            ),
            architecture=lambda_.Architecture.custom(packaging.AWS.architecture),
            code=code,
            handler=f"lambdas.{name}.handler.handle",
            role=self.role,
            log_group=log_group,
            timeout=Duration.seconds(timeout_seconds),
            memory_size=memory_mb,
            environment={**(environment or {}), **settings.to_env()},
            reserved_concurrent_executions=reserved,
        )
        nag.accept(
            self.function,
            "L1",
            because="One runtime for all, the newest that every locked dependency has"
            " wheels for.",
        )


class Functions:
    """Makes the functions of one fleet, each with the dependencies that it needs."""

    def __init__(
        self,
        *,
        assets: Assets,
        encryption: Encryption,
        traits: Mapping[str, SenderTraits],
    ) -> None:
        """Ship ``assets``; the receiver also ships what its senders need."""
        self._assets = assets
        self._encryption = encryption
        #: Every function made so far, by the folder of its code.
        self.made: list[tuple[str, Function]] = []
        self._needs = {
            "receiver": {each.needs for each in traits.values()},
            "worker": {"agents"},
            "cron": {"zones"},
            "watcher": {"zones"},
            "planner": {"zones", "calendars"},
            "poller": {"feeds"},
        }

    def make(
        self,
        scope: Construct,
        id: str,
        *,
        name: str,
        settings: Settings,
        timeout_seconds: int,
        memory_mb: int,
        environment: Mapping[str, str] | None = None,
        reserved: int | None = None,
    ) -> Function:
        """Return the function ``lambdas.<name>.handler.handle``.

        Of the account's concurrency ``reserved`` is its own, and its most.
        """
        made = Function(
            scope,
            id,
            name=name,
            code=self._assets.code(*self._needs.get(name, ())),
            settings=settings,
            encryption=self._encryption,
            timeout_seconds=timeout_seconds,
            memory_mb=memory_mb,
            environment=environment,
            reserved=reserved,
        )
        self.made.append((name, made))
        return made


def make_log_group(
    scope: Construct, id: str, *, encryption: Encryption
) -> logs.LogGroup:
    """Return a log group that forgets; the ledger is what remembers."""
    return logs.LogGroup(
        scope,
        id,
        encryption_key=encryption.key,
        retention=LOG_RETENTION,
        removal_policy=RemovalPolicy.DESTROY,
    )
