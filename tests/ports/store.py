"""A store on loopback that does what it is told to: answer, refuse, break off, hang."""

from __future__ import annotations

import datetime as dt
import functools
import json
import re
import ssl
import threading
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from ipaddress import ip_address
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Self

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

OK: Any = (200, {})
PAGE: Any = (503, b"<html>Service Unavailable</html>")
# Breaks off, says nothing, answers with a checksum of something else.
RESET: Any = "reset"
HANG: Any = "hang"
DAMAGED: Any = "damaged"

_AUTHORIZATION = re.compile(
    r"(AWS4-HMAC-SHA256) Credential=(\S+), SignedHeaders=(\S+), Signature=(\S+)"
)


def refusal(code: str, status: int = 400) -> tuple[int, dict[str, Any]]:
    """Return a refusal as AWS's JSON services word it."""
    kind = f"com.amazonaws.dynamodb.v20120810#{code}"
    return status, {"__type": kind, "message": "no"}


@dataclass(frozen=True)
class Request:
    """What the store heard."""

    headers: Mapping[str, str]
    body: bytes

    @property
    def authorization(self) -> tuple[str, ...]:
        """The algorithm, the scope, the signed headers and the signature."""
        found = _AUTHORIZATION.fullmatch(self.headers["Authorization"])
        assert found, self.headers["Authorization"]
        return found.groups()

    @property
    def signature(self) -> str:
        """The signature."""
        return self.authorization[3]


class Store(ThreadingHTTPServer):
    """Does at each request the next of ``script``, and at last the same for ever."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Post)
        self.script: list[Any] = [OK]
        self.heard: list[Request] = []
        self.knocks = 0
        self.over = threading.Event()
        self.scheme = "http"

    @property
    def url(self) -> str:
        """Where it listens."""
        return f"{self.scheme}://127.0.0.1:{self.server_address[1]}"

    @classmethod
    @contextmanager
    def running(cls, *, tls: bool = False) -> Iterator[Self]:
        """Run one; with ``tls`` behind a certificate that it made itself."""
        with cls() as store:
            if tls:
                store.scheme = "https"
                store.socket = _disguised(store.socket)
            serve = functools.partial(store.serve_forever, poll_interval=0.01)
            threading.Thread(target=serve, daemon=True).start()
            yield store
            store.over.set()
            store.shutdown()

    def get_request(self) -> Any:
        """Count everybody who comes to the door; a handshake may fail there."""
        self.knocks += 1
        return super().get_request()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Say nothing: callers break off here."""

    def next_deed(self) -> Any:
        """Return what to do now."""
        return self.script[min(len(self.heard), len(self.script)) - 1]


class _Post(BaseHTTPRequestHandler):
    server: Store
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.server.heard.append(Request(self.headers, body))  # type: ignore[arg-type]
        deed = self.server.next_deed()
        if deed is RESET:
            self.close_connection = True
        elif deed is HANG:
            self.server.over.wait(5)
            self.close_connection = True
        elif deed is DAMAGED:
            self._answer(200, b"{}", checksum=zlib.crc32(b"{ }"))
        else:
            status, told = deed
            text = told if isinstance(told, bytes) else json.dumps(told).encode()
            self._answer(status, text, checksum=zlib.crc32(text))

    def _answer(self, status: int, text: bytes, *, checksum: int) -> None:
        with suppress(OSError):
            self.send_response(status)
            self.send_header("x-amz-crc32", str(checksum))
            self.send_header("Content-Length", str(len(text)))
            self.end_headers()
            self.wfile.write(text)

    def log_message(self, format: str, *args: Any) -> None: ...


def _disguised(socket: Any) -> ssl.SSLSocket:
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "127.0.0.1")])
    now = dt.datetime.now(dt.UTC)
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(now - dt.timedelta(days=1))
        .not_valid_after(now + dt.timedelta(days=1))
        .add_extension(
            x509.SubjectAlternativeName([x509.IPAddress(ip_address("127.0.0.1"))]),
            critical=False,
        )
        .sign(key, hashes.SHA256())
    )
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    with TemporaryDirectory() as folder:
        path = Path(folder) / "both.pem"
        private = key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )
        path.write_bytes(private + made.public_bytes(serialization.Encoding.PEM))
        context.load_cert_chain(path)
    return context.wrap_socket(socket, server_side=True)
