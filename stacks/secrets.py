"""The sources' secrets: made here with a random value, written by the operator."""

from __future__ import annotations

from collections.abc import Iterable

from aws_cdk import RemovalPolicy, Stack
from aws_cdk import aws_iam as iam
from aws_cdk import aws_secretsmanager as secretsmanager
from constructs import Construct

from stacks import nag
from stacks.encryption import Encryption


class Secrets(Construct):
    """One secret per name that a source asks for.

    The first value is random, so that a source nobody has set up refuses
    everything. An agent's own secrets are its owner's to make.
    """

    def __init__(
        self,
        scope: Construct,
        id: str,
        *,
        names: Iterable[str],
        encryption: Encryption,
    ) -> None:
        """Make the secrets of these names; two sources may share one."""
        super().__init__(scope, id)
        self._encryption = encryption
        self._secrets = {name: self._make(name) for name in sorted(set(names))}

    def allow_all(self, role: iam.IRole) -> None:
        """Let ``role`` read every source's secret, and no other."""
        self.allow(role, self._secrets)

    def allow(self, role: iam.IRole, names: Iterable[str]) -> None:
        """Let ``role`` read the secrets of these names."""
        arns = [self._arn(name) for name in names]
        if not arns:
            return
        role.add_to_principal_policy(
            iam.PolicyStatement(
                actions=["secretsmanager:GetSecretValue"], resources=arns
            )
        )
        self._encryption.allow_secrets(role)

    def _make(self, name: str) -> secretsmanager.Secret:
        secret = secretsmanager.Secret(
            self,
            name,
            secret_name=name,
            description=f"Bellhop: what proves the sender; bellhop secret set {name}",
            encryption_key=self._encryption.key,
            removal_policy=RemovalPolicy.RETAIN_ON_UPDATE_OR_DELETE,
        )
        nag.accept(
            secret,
            "SMG4",
            because="The sender issues this secret, so nothing of ours can rotate it"
            " alone; `bellhop secret rotate` keeps two of them live meanwhile.",
        )
        return secret

    def _arn(self, name: str) -> str:
        if name in self._secrets:
            return self._secrets[name].secret_arn
        stack = Stack.of(self)
        at = f"{stack.partition}:secretsmanager:{stack.region}:{stack.account}"
        # Secrets Manager adds a hyphen and six characters that only it knows.
        return f"arn:{at}:secret:{name}-??????"
