"""Where a source's secret lies, and the record of who changed it."""

from __future__ import annotations

import uuid

from cli import rotation
from cli.output import CliError, UsageError
from cli.signers import Signer
from cli.target import Target
from lambdas.shared import secrets
from lambdas.shared.errors import Misconfigured
from lambdas.shared.ledger import Audit
from lambdas.shared.secrets import Secret


def fetch(target: Target, source: str) -> Secret:
    """Return the secret of ``source`` as it is now.

    Raises:
        UsageError: the fleet has no such source.
        CliError: there is no secret, or none that can be read.
    """
    name = target.secret_id(source)
    manager = target.client("secretsmanager")
    try:
        stored = manager.get_secret_value(SecretId=name)
        return secrets.parse(name, stored.get("SecretString") or "")
    except manager.exceptions.ResourceNotFoundException:
        raise CliError(f"there is no secret {name}; deploy the stack first") from None
    except Misconfigured as error:
        hint = f"`bellhop secret set {source}` writes it anew"
        raise CliError(f"{error}; {hint}") from error


def private_key(target: Target, source: str, signer: Signer) -> str:
    """Return the key that stands in for a sender's own, on the local stack.

    It is made at the first need, kept beside the stack's other files, and the
    source is given its public part, if it holds one.

    Raises:
        UsageError: the stack is a deployed one: nobody but the sender has its key.
    """
    if target.clock_file is None:
        raise UsageError(
            f"{signer.sender} signs with a private key that nobody else has;"
            " only the local stack can be sent samples of it"
        )
    file = target.clock_file.parent / "keys" / f"{source}.pem"
    if not file.exists():
        file.parent.mkdir(mode=0o700, exist_ok=True)
        file.touch(mode=0o600)
        file.write_text(signer.new_key(), encoding="utf-8")
    key = file.read_text(encoding="utf-8")
    if not signer.has_secret:
        return key
    public = signer.public(key)
    if fetch(target, source).current != public:
        store(target, source, Secret(current=public), "secret set")
    return key


def store(target: Target, source: str, secret: Secret, what: str) -> None:
    """Replace the secret of ``source``; ``what`` goes into the audit."""
    target.client("secretsmanager").put_secret_value(
        SecretId=target.secret_id(source), SecretString=rotation.text(secret)
    )
    target.ledger.audit(
        Audit(
            id=str(uuid.uuid4()),
            at=target.now(),
            who=target.who(),
            what=what,
            about=f"{source} {rotation.fingerprint(secret.current)}",
        )
    )
