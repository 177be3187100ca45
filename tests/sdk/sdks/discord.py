"""Discord's own library."""

from discord_interactions import verify_key


def verify(case):
    signature = case.headers["x-signature-ed25519"]
    stamp = case.headers["x-signature-timestamp"]
    return verify_key(case.body, signature, stamp, case.secret)
