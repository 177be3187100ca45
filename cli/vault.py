"""Where a secret lies, and the record of who changed it."""

from __future__ import annotations

import uuid

from cli import forms, rotation
from cli.output import CliError, UsageError
from cli.signers import Signer
from cli.target import Target
from lambdas.shared import secrets
from lambdas.shared.errors import Misconfigured
from lambdas.shared.ledger import Audit
from lambdas.shared.secrets import Secret

_SUCCESSOR = uuid.UUID("6d6f0a1e-8f0c-4d43-9d0b-0c8b6f3f2a57")


def secret_id(target: Target, name: str) -> str:
    """Return what the secret of a source, a calendar or the digest is called at AWS.

    Raises:
        UsageError: the fleet has nothing of that name.
    """
    others = forms.secret_names(target.fleet)
    if name in others and name not in target.fleet.sources:
        return others[name]
    try:
        return target.secret_id(name)
    except UsageError as error:
        raise UsageError(", ".join([str(error), *others])) from None


def fetch(target: Target, source: str) -> Secret:
    """Return the secret of ``source`` as it is now; raises as :func:`read`."""
    return read(target, source)[0]


def read(target: Target, source: str) -> tuple[Secret, str]:
    """Return the secret of ``source`` as it is now, and which version that is.

    Raises:
        UsageError: the fleet has nothing of that name.
        CliError: there is no secret, or none that can be read.
    """
    name = secret_id(target, source)
    manager = target.client("secretsmanager")
    try:
        stored = manager.get_secret_value(SecretId=name)
        secret = secrets.parse(name, stored.get("SecretString") or "")
        return secret, stored["VersionId"]
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


def store(
    target: Target,
    source: str,
    secret: Secret,
    what: str,
    *,
    over: str | None = None,
    about: str | None = None,
) -> None:
    """Replace the secret of ``source``; ``what`` goes into the audit.

    ``about`` is the one that it was done to, the current one by default.
    ``over`` is the version that ``secret`` was made from: of two that are made
    from the same one, the second is refused.

    Raises:
        CliError: it was, and another has been stored over it.
    """
    manager = target.client("secretsmanager")
    # A version's id may be chosen, and is never given to another text.
    chosen = {"ClientRequestToken": str(uuid.uuid5(_SUCCESSOR, over))} if over else {}
    try:
        manager.put_secret_value(
            SecretId=secret_id(target, source),
            SecretString=rotation.text(secret),
            **chosen,
        )
    except manager.exceptions.ResourceExistsException:
        raise CliError(
            f"somebody else has changed the secret of {source} at this moment;"
            f" see `bellhop secret status {source}`"
        ) from None
    target.ledger.audit(
        Audit(
            id=str(uuid.uuid4()),
            at=target.now(),
            who=target.who(),
            what=what,
            about=f"{source} {rotation.fingerprint(about or secret.current)}",
        )
    )
