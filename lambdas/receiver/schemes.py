"""How a request proves that its sender made it: the building blocks.

A proof works on raw bytes, compares in constant time and in bytes (text that
is not ASCII makes ``compare_digest`` raise), and reads a hostile header once,
from left to right. ``secrets`` are the live ones, the current first; it
returns which of them matched. What fails is a ``Rejected``; a secret of the
wrong form is ``Misconfigured``, because the sender can do nothing about it.
"""

from __future__ import annotations

import base64
import hmac
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Literal, Protocol

from lambdas.receiver.places import Header, Place, find
from lambdas.receiver.request import Request
from lambdas.shared.errors import Code, Misconfigured, Rejected
from lambdas.shared.values import Unit, instant

MINUTES_5 = 300


class Proof(Protocol):
    """One way of proving."""

    def verify(self, request: Request, secrets: Sequence[str], now: datetime) -> int:
        """Return the index of the secret that matched.

        Raises:
            Rejected: nothing matched, or the signed time is outside the window.
            Misconfigured: no secret matched and one has not the sender's form.
        """
        ...

    def speaks(self, request: Request) -> bool:
        """Tell whether the request tries to prove itself this way."""
        ...


class Alone:
    """A sender's only way of proving: nobody asks whether it was meant."""

    def speaks(self, request: Request) -> bool:  # noqa: ARG002
        """Say yes."""
        return True


# --- What is signed: bytes, and what stands for a part of the request.
Part = bytes | Callable[[Request], bytes]


def _body(request: Request) -> bytes:
    return request.body


def _url(request: Request) -> bytes:
    return _bytes(request.url)


def _method(request: Request) -> bytes:
    return request.method.encode()


def _time(request: Request) -> bytes:
    raise NotImplementedError  # Hmac puts its own time here


BODY: Part = _body  # raw
URL: Part = _url  # as the sender knows it, with its query
METHOD: Part = _method
TIME: Part = _time  # the proof's own, exactly as it was sent


def header(name: str) -> Part:
    """Return the part that is a header's value, exactly as it was sent."""
    return lambda request: _bytes(request.header(name))


# --- What a secret's text means.
# None: this secret is of another kind, and proves nothing by this scheme.
Key = Callable[[str], bytes | None]


def as_text(secret: str) -> bytes:
    """The secret is its own characters, whatever it looks like."""
    return secret.encode("utf-8", "surrogatepass")


def as_base64(secret: str) -> bytes:
    """The secret is base64, with or without its padding."""
    return base64.b64decode(secret + "=" * (-len(secret) % 4), validate=True)


def as_whsec(secret: str) -> bytes:
    """The secret is base64 after ``whsec_``, which may be missing."""
    return as_base64(secret.removeprefix("whsec_"))


as_hex: Key = bytes.fromhex


def keys(secrets: Sequence[str], key: Key) -> Iterator[tuple[int, bytes]]:
    """Yield each secret's index and key; at the end complain about broken ones."""
    broken = ""
    for index, secret in enumerate(secrets):
        try:
            value = key(secret)
        except ValueError as error:
            broken = f"secret {index + 1} of {len(secrets)}: {type(error).__name__}"
            continue
        if value:
            yield index, value
        elif value is not None:
            broken = f"secret {index + 1} of {len(secrets)}: empty"
    if broken:
        # One that cannot be read might have been the right one.
        raise Misconfigured(f"the secret has not the sender's form: {broken}")


# --- When it was signed.
@dataclass(frozen=True, slots=True, kw_only=True)
class Time:
    """The signed time: a place, or a ``field`` of the signature's own header.

    Without ``tolerance_seconds`` any will do, unless the source names a window.
    """

    place: Place | None = None
    field: str = ""
    unit: Unit | None = "s"
    tolerance_seconds: int | None = MINUTES_5

    def check(self, sent: str, request: Request, now: datetime) -> None:
        """Refuse what lies outside the window, which is closed on both sides.

        Raises:
            Rejected: stale.
        """
        seconds = request.source.tolerance_seconds or self.tolerance_seconds
        if seconds is None:
            return
        window = timedelta(seconds=seconds)
        signed_at = instant(sent, self.unit)
        if signed_at is None:
            raise Rejected(Code.BAD_SIGNATURE, "the signed time is not a time")
        # Whole seconds, as senders count: exactly 300 s old is still valid.
        age = abs(now.replace(microsecond=0) - signed_at.replace(microsecond=0))
        if age > window:
            raise Rejected(Code.STALE, f"signed at {signed_at:%FT%TZ}, {age} from now")


@dataclass(frozen=True, slots=True, kw_only=True)
class Hmac:
    """A keyed hash over ``signed``, found at ``signature``.

    ``separator`` splits the signature's text into entries, of which those
    after ``prefix`` are tried, in any number and order. ``loose`` also tries
    those without it and, where there is none, those after any ``name=``.
    ``any_case`` lets a hex digest be in capitals.
    """

    signature: Place
    signed: tuple[Part, ...] = (BODY,)
    prefix: str = ""
    separator: str = ""
    loose: bool = False
    algorithm: Literal["sha256", "sha1", "sha512"] = "sha256"
    encoding: Literal["hex", "base64"] = "hex"
    any_case: bool = False
    key: Key = as_text
    time: Time | None = None

    def speaks(self, request: Request) -> bool:
        """Tell whether there is a signature at all."""
        return bool(_raw(self.signature, request))

    def verify(self, request: Request, secrets: Sequence[str], now: datetime) -> int:
        """See :meth:`Proof.verify`."""
        given = _raw(self.signature, request)
        if not given:
            raise Rejected(Code.BAD_SIGNATURE, "there is no signature")
        if self.separator == ";" and "," in given:
            # API Gateway joins a header that came twice by a comma.
            raise Rejected(Code.BAD_SIGNATURE, "there is more than one signature")
        entries = [given]
        if self.separator:
            entries = [entry.strip() for entry in given.split(self.separator)]
        # A time that the text does not hold lies in the body, which is read
        # only after it has proved itself.
        sent = self._sent(entries, request) if TIME in self.signed else None
        which = self._match(entries, self._text(request, sent or ""), secrets)
        if self.time is not None:
            if sent is None:
                sent = self._sent(entries, request)
            self.time.check(sent, request, now)
        return which

    def _match(
        self, entries: Sequence[str], signed: bytes, secrets: Sequence[str]
    ) -> int:
        tries = [
            _bytes(entry.removeprefix(self.prefix))
            for entry in entries
            if self.loose or entry.startswith(self.prefix)
        ]
        if self.loose and not self.prefix:
            tries += [_bytes(entry.partition("=")[2]) for entry in entries]
        if self.any_case:
            tries = [t.lower() for t in tries]
        for index, key in keys(secrets, self.key):
            digest = hmac.digest(key, signed, self.algorithm)
            wanted = (
                digest.hex().encode()
                if self.encoding == "hex"
                else base64.b64encode(digest)
            )
            for attempt in tries:
                if hmac.compare_digest(attempt, wanted):
                    return index
        raise Rejected(Code.BAD_SIGNATURE, f"none of {len(tries)} signatures matches")

    def _text(self, request: Request, sent: str) -> bytes:
        return b"".join(
            part
            if isinstance(part, bytes)
            else _bytes(sent)
            if part is TIME
            else part(request)
            for part in self.signed
        )

    def _sent(self, entries: Sequence[str], request: Request) -> str:
        time = self.time or Time()
        if time.field:
            name = f"{time.field}="
            found = [e.removeprefix(name) for e in entries if e.startswith(name)]
        else:
            found = [_raw(time.place, request)]
        if len(found) != 1 or not found[0]:
            raise Rejected(Code.BAD_SIGNATURE, "there is no time, or more than one")
        return found[0]


@dataclass(frozen=True, slots=True, kw_only=True)
class Token:
    """The secret itself, in a header or elsewhere, after ``prefix``.

    It signs nothing: whoever reads one request can make others.
    """

    place: Place
    prefix: str = ""

    def speaks(self, request: Request) -> bool:
        """Tell whether there is a token at all."""
        return bool(_raw(self.place, request))

    def verify(self, request: Request, secrets: Sequence[str], now: datetime) -> int:  # noqa: ARG002 - no time
        """See :meth:`Proof.verify`."""
        given = _raw(self.place, request)
        for index, secret in keys(secrets, as_text):
            if given and hmac.compare_digest(
                _bytes(given), _bytes(self.prefix) + secret
            ):
                return index
        raise Rejected(Code.BAD_SIGNATURE, "the token is missing or another one")


def _user_password(secret: str) -> bytes:
    if ":" not in secret:
        raise ValueError("want user:password")
    return b"Basic " + base64.b64encode(as_text(secret))


@dataclass(frozen=True, slots=True)
class Basic:
    """HTTP Basic; the secret is ``user:password``."""

    def speaks(self, request: Request) -> bool:
        """Tell whether there are credentials at all."""
        return bool(request.header("authorization"))

    def verify(self, request: Request, secrets: Sequence[str], now: datetime) -> int:  # noqa: ARG002 - no time
        """See :meth:`Proof.verify`."""
        scheme, _, rest = request.header("authorization").partition(" ")
        given = _bytes(f"{scheme.capitalize()} {rest.strip()}")
        for index, wanted in keys(secrets, _user_password):
            if hmac.compare_digest(given, wanted):
                return index
        raise Rejected(Code.BAD_SIGNATURE, "the credentials are missing or others")


@dataclass(frozen=True, slots=True)
class FirstSpoken:
    """The first of ``proofs`` whose signature is there decides, alone.

    So a sender with several schemes, or several names for a header, is held
    to the strongest one that it used; without any, the first complains.
    """

    proofs: tuple[Proof, ...]

    def speaks(self, request: Request) -> bool:
        """Tell whether any proof is there."""
        return any(proof.speaks(request) for proof in self.proofs)

    def verify(self, request: Request, secrets: Sequence[str], now: datetime) -> int:
        """See :meth:`Proof.verify`."""
        spoken = (proof for proof in self.proofs if proof.speaks(request))
        return next(spoken, self.proofs[0]).verify(request, secrets, now)


@dataclass(frozen=True, slots=True)
class AnyOf:
    """One of ``proofs`` must hold: for texts that a proxy may have rewritten."""

    proofs: tuple[Proof, ...]

    def speaks(self, request: Request) -> bool:
        """Tell whether any proof is there."""
        return any(proof.speaks(request) for proof in self.proofs)

    def verify(self, request: Request, secrets: Sequence[str], now: datetime) -> int:
        """See :meth:`Proof.verify`; the last refusal is the one that counts."""
        for proof in self.proofs[:-1]:
            try:
                return proof.verify(request, secrets, now)
            except Rejected as refused:
                if refused.code is not Code.BAD_SIGNATURE:
                    raise
        return self.proofs[-1].verify(request, secrets, now)


def _raw(place: Place | None, request: Request) -> str:
    """Return what is there without judging it: a signature decides by itself."""
    if isinstance(place, Header):
        return request.header(place.name)
    found = find(place, request)
    return str(found) if isinstance(found, str | int) else ""


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")
