"""GitLab: the token itself; or, with a ``whsec_`` signing token, an HMAC."""

from __future__ import annotations

from cli.signers.draft import Delivery, Draft
from cli.signers.standard_webhooks import standard

# A token proves who speaks, not what is said.
COVERS_BODY = False


def sign(draft: Draft) -> Delivery:
    """Prove it with whichever of the two the secret is."""
    kind = draft.payload["object_kind"].replace("_", " ").title()
    told = {
        "User-Agent": "GitLab/18.6.0",
        "X-Gitlab-Event": f"{kind} Hook",
        "X-Gitlab-Event-UUID": draft.id,
        "X-Gitlab-Instance": "https://gitlab.cafe.example",
        "X-Gitlab-Webhook-UUID": "02affd2d-2cba-4033-917d-ec22d5dc4b38",
        "Idempotency-Key": draft.id,
    }
    if draft.secret.startswith("whsec_"):
        return draft.send({**told, **standard(draft, headers="webhook").headers})
    return draft.send({**told, "X-Gitlab-Token": draft.secret})
