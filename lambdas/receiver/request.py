"""What came to the door, and what is answered, without API Gateway's words."""

from __future__ import annotations

import base64
import functools
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any
from urllib.parse import parse_qs

from lambdas.shared.errors import Code, Rejected
from lambdas.shared.fetch import Fetch, nothing
from lambdas.shared.fleet import Source

FORM = "application/x-www-form-urlencoded"
JSON = "application/json"

# No sender's form has more; without a bound, "a=&a=&..." costs seconds.
_MOST_FIELDS = 1000


@dataclass(frozen=True, kw_only=True)
class Request:
    """One HTTP request as the sender made it.

    ``body`` is the raw bytes. Names of ``headers`` are in lower case; API
    Gateway joins the values of a repeated header by a comma. ``query`` is raw.
    ``fetch`` is the way to what the sender publishes (certificates, keys).
    """

    source: Source
    method: str
    headers: Mapping[str, str]
    body: bytes
    received_at: datetime
    path: str = ""
    query: str = ""
    host: str = ""
    request_id: str = ""
    fetch: Fetch = nothing

    def header(self, name: str) -> str:
        """Return a header's value, or an empty text."""
        return self.headers.get(name.lower(), "")

    @property
    def media_type(self) -> str:
        """The ``Content-Type`` without parameters, in lower case.

        No sender signs it: a JSON text that is called a form stays JSON, or a
        stranger's words in it (``&payload=...``) would become the fields.
        """
        found = self.header("content-type").partition(";")[0].strip().lower()
        if found == FORM and self.body[:64].lstrip()[:1] in (b"{", b"["):
            return JSON
        # It is kept with the event: a word, and text that every store takes.
        return found[:128].encode("utf-8", "replace").decode()

    @property
    def url(self) -> str:
        """The address that the sender called, as it knows it.

        ``public_url`` of the source, or API Gateway's own host and path. A
        ``public_url`` without a path stands for the host alone, and the query
        is the one that came, if any.
        """
        base, _, own_query = (self.source.public_url or "").partition("?")
        base = base or f"https://{self.host}"
        if "/" not in base.partition("://")[2]:
            base += self.path
        query = self.query or own_query
        return f"{base}?{query}" if query else base

    @property
    def is_query(self) -> bool:
        """Whether the query is all that it says."""
        return self.method == "GET" and not self.body and bool(self.query)

    @functools.cached_property
    def arguments(self) -> Mapping[str, str]:
        """The query's arguments, decoded; of a repeated one the first."""
        return {name: values[0] for name, values in _fields(self.query).items()}

    @functools.cached_property
    def data(self) -> Any:
        """The body decoded: JSON values, or a form as a dict of texts and lists.

        A form's ``payload`` field that holds JSON (GitHub, Slack) is read
        through. A GET without a body has its query for a form.

        Raises:
            Rejected: malformed, for whatever reason.
        """
        if self.is_query:
            return {
                k: v[0] if len(v) == 1 else v for k, v in _fields(self.query).items()
            }
        if self.media_type != FORM:
            return _json(self.body)
        try:
            text = self.body.decode()
        except UnicodeDecodeError as error:
            raise Rejected(Code.MALFORMED, "the form is not UTF-8") from error
        fields = {k: v[0] if len(v) == 1 else v for k, v in _fields(text).items()}
        wrapped = fields.get("payload")
        return _json(wrapped) if isinstance(wrapped, str) else fields


def _json(body: str | bytes) -> Any:
    try:
        return json.loads(body)
    except (ValueError, RecursionError) as error:
        # The error's text may quote the body: it goes no further.
        raise Rejected(
            Code.MALFORMED, f"the body is not JSON: {type(error).__name__}"
        ) from None


def _fields(text: str) -> dict[str, list[str]]:
    try:
        return parse_qs(
            text, keep_blank_values=True, max_num_fields=_MOST_FIELDS, errors="strict"
        )
    except ValueError as error:
        raise Rejected(Code.MALFORMED, "the fields are not decodable") from error


def from_api_gateway(
    event: Mapping[str, Any],
    source: Source,
    received_at: datetime,
    fetch: Fetch = nothing,
) -> Request:
    """Read an HTTP API's payload (version 2.0).

    Raises:
        Rejected: the body is broken base64.
    """
    context = event["requestContext"]
    headers: dict[str, str] = {}
    for name, value in (event.get("headers") or {}).items():
        known = headers.get(name.lower())
        headers[name.lower()] = str(value) if known is None else f"{known},{value}"
    return Request(
        source=source,
        method=context["http"]["method"].upper(),
        headers=headers,
        body=_body(event),
        received_at=received_at,
        path=event.get("rawPath", ""),
        # A lone surrogate is no text that anything could be made of.
        query=event.get("rawQueryString", "").encode("utf-8", "replace").decode(),
        host=context.get("domainName", ""),
        request_id=context.get("requestId", ""),
        fetch=fetch,
    )


def _body(event: Mapping[str, Any]) -> bytes:
    text = event.get("body") or ""
    body = text.encode("utf-8", "surrogatepass")
    if event.get("isBase64Encoded"):
        # Decoding is bounded by what Lambda takes, 6 MB.
        try:
            body = base64.b64decode(body, validate=True)
        except ValueError as error:
            raise Rejected(Code.MALFORMED, "the body is broken base64") from error
    return body


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What the sender hears: a handshake's answer, or its own kind of success."""

    status: int = 200
    body: str = ""
    media_type: str = "text/plain; charset=utf-8"
    headers: Mapping[str, str] = field(default_factory=dict)

    def to_api_gateway(self) -> dict[str, Any]:
        """Return the answer as an HTTP API wants it."""
        # A browser that is led here must not take an echoed text for a page.
        headers = {"x-content-type-options": "nosniff", **self.headers}
        if self.body:
            headers["content-type"] = self.media_type
        return {"statusCode": self.status, "headers": headers, "body": self.body}


def json_answer(
    values: Any, *, status: int = 200, headers: Mapping[str, str] | None = None
) -> Answer:
    """Return an answer whose body is ``values`` as JSON."""
    return Answer(
        status=status,
        body=json.dumps(values, separators=(",", ":")),
        media_type="application/json",
        headers=headers or {},
    )
