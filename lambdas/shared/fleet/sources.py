"""The ``[sources]`` tables: which doors there are and how each sender proves itself."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Any, Literal, Protocol, cast

from lambdas.shared.errors import Misconfigured
from lambdas.shared.fleet.model import BUILT_IN_SOURCES, Generic, Pick, Source
from lambdas.shared.fleet.problems import Table, did_you_mean

SECRET_NAME = re.compile(r"[A-Za-z0-9/_+=.@-]{1,256}")
A_SECRET_NAME = "a secret's name (letters, digits and /_+=.@-)"  # noqa: S105  words
_PATH_PART = r"[^\s.\[\]]+(\[\d+\])*"
JSON_PATH = re.compile(rf"{_PATH_PART}(\.{_PATH_PART})*")
_HEADER = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
# Facts travel on the bus, are logged and shown: no token may be among them.
_CONFIDENTIAL = re.compile(r"(?i)(authorization|cookie|token|secret|password)$")
# A proxy before us may take plain HTTP: what counts is what the sender signs.
_URL = re.compile(r"https?://[^\s/?#]+(/[^\s?#]*)?(\?[^\s#]*)?")
_PLACEHOLDER = re.compile(r"\{([^{}]*)\}")

# API Gateway hands at most 6 MB to a Lambda, as text; base64 makes 4.5 MB of it.
_LARGEST_BODY = 6_000_000
# Nobody retries for longer than Stripe does; a wider window protects nothing.
_LONGEST_TOLERANCE_SECONDS = 3 * 86_400

_GENERIC_KEYS = (
    "algorithm",
    "signature_header",
    "prefix",
    "encoding",
    "signed",
    "timestamp_header",
    "id_from",
    "kind_from",
    "tenant_from",
)


class Traits(Protocol):
    """What the fleet must know of a sender before anything is deployed."""

    @property
    def has_delivery_id(self) -> bool:
        """Whether the sender names its deliveries."""
        ...

    @property
    def needs_public_url(self) -> bool:
        """Whether the sender signs the URL it calls."""
        ...

    @property
    def gives_up_after_seconds(self) -> float | None:
        """How long the sender waits for an answer, where that is known."""
        ...

    @property
    def options(self) -> Collection[str]:
        """The keys that ``[sources.NAME]`` may hold for this sender alone."""
        ...

    @property
    def required(self) -> Mapping[str, Literal["text", "texts"]]:
        """Those of them that it must hold, with their form."""
        ...

    @property
    def forms(self) -> Mapping[str, Literal["boolean", "header"]]:
        """The form of the others, where it is no text."""
        ...


class FindTraits(Protocol):
    """Finds a sender's traits by its name."""

    def __call__(self, name: str, /) -> Traits:
        """Return them, or raise ``LookupError`` or ``Misconfigured``, saying why."""
        ...


def read_sources(
    tables: Mapping[str, Table], find_traits: FindTraits | None
) -> dict[str, Source]:
    """Read every ``[sources.NAME]``; without ``find_traits`` senders go unchecked."""
    sources = {
        name: _source(name, table, find_traits) for name, table in tables.items()
    }
    refuse_shared_secrets(tables, {n: s.secret_name for n, s in sources.items()})
    return sources


def refuse_shared_secrets(
    tables: Mapping[str, Table],
    secret_names: Mapping[str, str],
    others: Mapping[str, Source] = MappingProxyType({}),
) -> None:
    """Tell of each source whose secret is that of one before it, or of ``others``."""
    owners = {source.secret_name: name for name, source in others.items()}
    for name, secret_name in secret_names.items():
        owner = owners.setdefault(secret_name, name)
        if owner != name:
            tables[name].problem(
                "secret_name",
                f"{secret_name!r} is the secret of source {owner!r} too;"
                " want one secret per source",
            )


def slow_to_start(
    sources: Mapping[str, Source], find_traits: FindTraits
) -> list[tuple[str, float]]:
    """Return the sources whose sender gives up before a cold receiver answers."""
    impatient = []
    for name, source in sources.items():
        try:
            patience = find_traits(source.sender).gives_up_after_seconds
        except (LookupError, Misconfigured):
            continue
        if patience is not None and patience <= 1:
            impatient.append((name, patience))
    return impatient


def _source(name: str, table: Table, find_traits: FindTraits | None) -> Source:
    if name in BUILT_IN_SOURCES:
        table.problem("", f"{name!r} is built in; want another name")
    sender = table.text("sender", want="a sender's name") or name
    identity = cast(
        Literal["body", "request"] | None, table.choice("identity", ("body", "request"))
    )
    generic = _generic(table) if sender == "generic" else None
    if generic is None:
        _refuse_generic_keys(table)
    url = table.matching("public_url", _URL, "the https:// address that is called")
    tolerance = table.whole("tolerance_seconds", 1, _LONGEST_TOLERANCE_SECONDS)
    source = Source(
        name=name,
        sender=sender,
        secret_name=table.matching("secret_name", SECRET_NAME, A_SECRET_NAME)
        or f"bellhop/{name}",
        tolerance_seconds=tolerance,
        allow_cidrs=_cidrs(table),
        public_url=url,
        max_body_bytes=table.whole_or("max_body_bytes", 4_500_000, 1, _LARGEST_BODY),
        facts=table.texts(
            "facts",
            want="JSON paths like 'repository.full_name', or 'header:NAME'"
            " (no secret's)",
            accept=_is_fact,
        ),
        ignore_actors=table.texts("ignore_actors"),
        identity=identity,
        generic=generic,
    )
    if generic is not None:
        _check_generic(table, source, generic)
    elif find_traits is None:
        # Synth has told the sender's own keys from misspelled ones.
        return replace(source, options=table.rest())
    else:
        source = _check_sender(table, source, find_traits)
    table.close()
    return source


def _check_sender(table: Table, source: Source, find_traits: FindTraits) -> Source:
    try:
        traits = find_traits(source.sender)
    except (LookupError, Misconfigured) as error:
        table.problem("sender", str(error.args[0] if error.args else error))
        return replace(source, options=table.rest())
    _check_identity(table, source, has_delivery_id=traits.has_delivery_id)
    if traits.needs_public_url and source.public_url is None:
        table.problem(
            "public_url",
            f"sender {source.sender!r} signs the address it calls; want that address",
        )
    for key, form in traits.required.items():
        given = table.text(key) if form == "text" else table.texts(key)
        if not table.has(key):
            what = "text" if form == "text" else "a list of texts"
            table.problem(key, f"sender {source.sender!r} wants it: {what}")
        elif given == ():
            table.problem(key, "want at least one text in it")
    for key in [k for k in traits.options if k not in traits.required]:
        _check_option(table, key, traits.forms.get(key, "text"))
    options = {key: table.raw(key) for key in traits.options if table.has(key)}
    return replace(source, options=options)


def _check_option(table: Table, key: str, form: str) -> None:
    if form == "boolean":
        table.boolean(key, default=False)
    elif form == "header":
        table.matching(key, _HEADER, "a header's name")
    else:
        table.text(key)


def _check_identity(table: Table, source: Source, *, has_delivery_id: bool) -> None:
    if source.identity is None and not has_delivery_id:
        table.problem(
            "identity",
            f"sender {source.sender!r} offers no delivery id; want 'body' (identical"
            " bodies within ledger_days are one event) or 'request' (every request"
            " is a new event)",
        )
    if source.identity == "request" and has_delivery_id:
        table.problem(
            "identity",
            f"sender {source.sender!r} offers a delivery id, and 'request' would make"
            " its every retry a new event; leave it out, or say 'body'",
        )


def _is_fact(place: str) -> bool:
    kind, _, name = place.partition(":")
    if kind == "header":
        return bool(_HEADER.fullmatch(name)) and not _CONFIDENTIAL.search(name)
    return bool(JSON_PATH.fullmatch(place))


def _cidrs(table: Table) -> tuple[str, ...]:
    texts = table.texts("allow_cidrs", want="networks like '192.0.2.0/24'")
    if not texts:
        return ()
    # Imported here: few fleets have lists, and it is slow to import.
    import ipaddress

    for text in texts:
        try:
            network = ipaddress.ip_network(text)
        except ValueError as error:
            table.problem("allow_cidrs", f"want networks like '192.0.2.0/24': {error}")
            continue
        if network.version == 6 and network.network_address.ipv4_mapped:
            # Addresses are compared as IPv4: it would let nobody in.
            table.problem("allow_cidrs", f"want {text!r} written as IPv4")
    return texts


def _refuse_generic_keys(table: Table) -> None:
    for key in _GENERIC_KEYS:
        if table.has(key):
            table.problem(key, "only sender = 'generic' takes this; want it removed")


def _generic(table: Table) -> Generic:
    algorithm = table.choice(
        "algorithm", ("sha256", "sha1", "sha512", "token", "basic")
    )
    header = table.matching("signature_header", _HEADER, "a header's name")
    if algorithm is None and not table.has("algorithm"):
        table.problem("algorithm", "want sha256 | sha1 | sha512 | token | basic")
    if header is None and not table.has("signature_header") and algorithm != "basic":
        table.problem("signature_header", "want the header that carries the proof")
    prefix = table.raw("prefix")
    if not isinstance(prefix, str | None):
        table.problem("prefix", f"want text, got {prefix!r}")
        prefix = None
    return Generic(
        algorithm=cast(Any, algorithm or "sha256"),
        signature_header=header or "Authorization",
        prefix=prefix or "",
        encoding=cast(Any, table.choice("encoding", ("hex", "base64")) or "hex"),
        signed=table.text("signed") or "{body}",
        timestamp_header=table.matching("timestamp_header", _HEADER, "a header's name"),
        id_from=_pick(table, "id_from"),
        kind_from=_pick(table, "kind_from") or Pick(where="text", name="received"),
        tenant_from=_pick(table, "tenant_from"),
    )


def _pick(table: Table, key: str) -> Pick | None:
    want = "'header:NAME', 'body:JSON.PATH' or 'text:VALUE'"
    if key != "kind_from":
        want = "'header:NAME' or 'body:JSON.PATH'"
    value = table.text(key, want=want)
    if value is None:
        return None
    where, _, name = value.partition(":")
    checks: dict[str, Callable[[str], object]] = {
        "header": _HEADER.fullmatch,
        "body": JSON_PATH.fullmatch,
    }
    if key == "kind_from":
        checks["text"] = str.strip
    if where not in checks or not checks[where](name):
        table.problem(key, f"want {want}, got {value!r}")
        return None
    return Pick(where=cast(Any, where), name=name)


def _check_generic(table: Table, source: Source, generic: Generic) -> None:
    _check_identity(table, source, has_delivery_id=generic.id_from is not None)
    if generic.algorithm in ("token", "basic"):
        _check_unsigned(table, generic)
        return
    named = _PLACEHOLDER.findall(generic.signed)
    for word in named:
        if word not in ("body", "timestamp", "id"):
            near = did_you_mean(word, ("body", "timestamp", "id"))
            table.problem("signed", f"want {{body}}, {{timestamp}}, {{id}}{near}")
    if "body" not in named:
        table.problem("signed", f"want {{body}} in it, got {generic.signed!r}")
    for seam in ("{id}{body}", "{body}{id}", "{timestamp}{id}"):
        if seam in generic.signed:
            table.problem(
                "signed",
                f"nothing separates {seam}: bytes could move from one to the other,"
                " and a captured request get another id; want what the sender puts"
                " between them, or the id left out",
            )
    _check_time(table, source, generic, is_signed="timestamp" in named)
    from_header = generic.id_from is not None and generic.id_from.where == "header"
    if "id" in named and not from_header:
        table.problem("id_from", "signed has {id} in it; want 'header:NAME'")


def _check_unsigned(table: Table, generic: Generic) -> None:
    for key in ("signed", "encoding", "timestamp_header", "tolerance_seconds"):
        if table.has(key):
            table.problem(
                key,
                f"means nothing with algorithm {generic.algorithm!r}, which signs"
                " nothing; want it removed",
            )
    if generic.algorithm == "token":
        return
    for key in ("signature_header", "prefix"):
        if table.has(key):
            table.problem(
                key, "HTTP Basic is always 'Authorization: Basic ...'; want it removed"
            )


def _check_time(
    table: Table, source: Source, generic: Generic, *, is_signed: bool
) -> None:
    if is_signed and generic.timestamp_header is None:
        table.problem("timestamp_header", "signed has {timestamp} in it; want a header")
    stamp = generic.timestamp_header or ""
    if stamp.lower() == generic.signature_header.lower():
        table.problem("timestamp_header", "is the signature's too; want another header")
    if generic.timestamp_header is not None and not is_signed:
        table.problem(
            "timestamp_header",
            "an unsigned time protects nothing; want {timestamp} in signed,"
            " or this removed",
        )
    if source.tolerance_seconds is not None and generic.timestamp_header is None:
        table.problem("tolerance_seconds", "no time is signed; want a timestamp_header")
