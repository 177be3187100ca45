"""The adapter that calls out: public addresses alone, bounded in time and size."""

from __future__ import annotations

import socket
import ssl
import threading
import time
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest

from cli.signers import keys
from lambdas.shared import clock
from lambdas.shared.adapters import https, post
from lambdas.shared.errors import Misconfigured, Unavailable
from lambdas.shared.fetch import Reply

Speak = Callable[[BaseHTTPRequestHandler], None]


@contextmanager
def server(speak: Speak, monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """Let the outside world be this one server; yields what was asked of it."""
    asked: list[str] = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked.append(self.path)
            try:
                speak(self)
            except OSError:
                self.close_connection = True

        def log_message(self, *_: Any) -> None:
            """Say nothing."""

    with HTTPServer(("127.0.0.1", 0), Handler) as http:
        monkeypatch.setenv("BELLHOP_WORLD_URL", f"http://127.0.0.1:{http.server_port}")
        thread = threading.Thread(target=http.serve_forever, args=(0.01,), daemon=True)
        thread.start()
        yield asked
        http.shutdown()
        thread.join()


def get(seconds: float = 2.0) -> Reply:
    url = "https://keys.example.com/certs/a.pem?v=1"
    return https.get(url, most_bytes=1000, timeout_seconds=seconds)


def answers(status: int, body: bytes, **headers: str) -> Speak:
    def speak(handler: BaseHTTPRequestHandler) -> None:
        handler.send_response(status)
        for name, value in headers.items():
            handler.send_header(name, value)
        handler.send_header("Content-Length", str(len(body)))
        handler.end_headers()
        handler.wfile.write(body)

    return speak


def test_answer_comes_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    with server(answers(200, b"key"), monkeypatch) as asked:
        assert get() == Reply(200, b"key")

    assert asked == ["/keys.example.com/certs/a.pem?v=1"]


def test_redirect_is_not_followed(monkeypatch: pytest.MonkeyPatch) -> None:
    elsewhere = answers(302, b"", Location="http://169.254.169.254/latest")
    with server(elsewhere, monkeypatch) as asked:
        assert get().status == 302

    assert len(asked) == 1


def test_large_answer_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    with (
        server(answers(200, b"x" * 1001), monkeypatch),
        pytest.raises(Unavailable, match="more than 1000 bytes"),
    ):
        get()


def drips(handler: BaseHTTPRequestHandler) -> None:
    handler.send_response(200)
    handler.end_headers()
    for _ in range(100):
        handler.wfile.write(b"x")
        handler.wfile.flush()
        time.sleep(0.05)


def hangs(handler: BaseHTTPRequestHandler) -> None:
    time.sleep(1)


def breaks(handler: BaseHTTPRequestHandler) -> None:
    handler.wfile.write(b"this is not HTTP\r\n\r\n")


@pytest.mark.parametrize("speak", [drips, hangs, breaks])
def test_other_side_that_fails_is_unavailable_in_time(
    speak: Speak, monkeypatch: pytest.MonkeyPatch
) -> None:
    with server(speak, monkeypatch), pytest.raises(Unavailable):
        get(seconds=0.3)


def test_nobody_there_is_unavailable(monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    monkeypatch.setenv("BELLHOP_WORLD_URL", f"http://127.0.0.1:{port}")

    with pytest.raises(Unavailable):
        get()


PRIVATE = ["127.0.0.1", "10.1.2.3", "172.16.0.1", "192.168.1.1", "169.254.169.254"]
PRIVATE += ["100.64.0.1", "0.0.0.0", "224.0.0.1", "255.255.255.255", "::1", "fe80::1"]  # noqa: S104
PRIVATE += ["fd00::1", "::ffff:169.254.169.254", "::ffff:10.0.0.1", "2002:a00:1::"]
PRIVATE += ["ff02::1", "::", "fe80::1%eth0", "64:ff9b::a9fe:a9fe", "::a9fe:a9fe"]


@pytest.mark.parametrize("address", PRIVATE)
@pytest.mark.parametrize("beside", [[], ["52.94.5.1"]], ids=["alone", "beside one"])
def test_name_that_leads_into_a_private_network_is_not_called(
    address: str, beside: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """One private address among public ones is how a name is bound anew."""

    def resolve(host: str, port: int, **_: Any) -> list[Any]:
        return [(socket.AF_INET, 1, 6, "", (a, port)) for a in [*beside, address]]

    def connect(*_: Any) -> socket.socket:
        raise AssertionError("connected")

    monkeypatch.setattr(socket, "getaddrinfo", resolve)
    monkeypatch.setattr(socket, "create_connection", connect)

    with pytest.raises(Unavailable, match="private network"):
        get()


def test_address_that_was_looked_at_is_the_one_that_is_called(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    resolved, called = [], []

    def resolve(host: str, port: int, **_: Any) -> list[Any]:
        resolved.append(host)
        v6 = (socket.AF_INET6, 1, 6, "", ("2a05:d018::1", port, 0, 0))
        return [v6, (socket.AF_INET, 1, 6, "", ("52.94.5.1", port))]

    def connect(address: tuple[str, int], timeout: float) -> socket.socket:
        called.append((address, timeout))
        raise ConnectionRefusedError

    monkeypatch.setattr(socket, "getaddrinfo", resolve)
    monkeypatch.setattr(socket, "create_connection", connect)

    with pytest.raises(Unavailable, match="ConnectionRefusedError"):
        get()

    assert resolved == ["keys.example.com"]
    assert called == [(("52.94.5.1", 443), 2.0)]


def test_name_that_does_not_resolve_is_unavailable(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def resolve(*_: Any, **__: Any) -> list[Any]:
        raise socket.gaierror(-2, "Name or service not known")

    monkeypatch.setattr(socket, "getaddrinfo", resolve)

    with pytest.raises(Unavailable, match="gaierror"):
        get()


@contextmanager
def tls_server(owner: str, folder: Path) -> Iterator[tuple[int, Path]]:
    """Serve one answer over TLS as ``owner``; yields the port and the certificate."""
    key = keys.new_rsa()
    certificate = folder / "certificate.pem"
    certificate.write_bytes(keys.certificate(key, owner, clock.now()))
    (folder / "key.pem").write_text(key)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, folder / "key.pem")
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def serve() -> None:
            plain, _ = listening.accept()
            try:
                with context.wrap_socket(plain, server_side=True) as wire:
                    asked = wire.recv(4096)
                    assert b"host: keys.example.com\r\n" in asked.lower()
                    wire.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nkey")
            except ssl.SSLError:
                plain.close()

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        yield listening.getsockname()[1], certificate
        thread.join(5)


@pytest.mark.parametrize(
    ("owner", "is_trusted", "is_right"),
    [
        ("keys.example.com", True, True),
        ("evil.example.com", True, False),
        ("keys.example.com", False, False),
    ],
    ids=["its own", "another's", "anybody's"],
)
def test_certificate_of_the_host_itself_is_wanted(
    owner: str,
    is_trusted: bool,
    is_right: bool,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with tls_server(owner, tmp_path) as (port, certificate):

        def connect(address: tuple[str, int], timeout: float) -> socket.socket:
            assert address == ("52.94.5.1", 443)
            wire = socket.socket()
            wire.settimeout(timeout)
            wire.connect(("127.0.0.1", port))
            return wire

        def resolve(_: str, port: int, **__: Any) -> list[Any]:
            return [(socket.AF_INET, 1, 6, "", ("52.94.5.1", port))]

        monkeypatch.setattr(socket, "create_connection", connect)
        monkeypatch.setattr(socket, "getaddrinfo", resolve)
        if is_trusted:
            monkeypatch.setenv("SSL_CERT_FILE", str(certificate))

        if is_right:
            assert get() == Reply(200, b"key")
        else:
            with pytest.raises(Unavailable, match="SSLCertVerificationError"):
                get()


@pytest.mark.parametrize("call", ["exchange", "post"])
def test_secret_that_no_header_takes_is_not_quoted(
    call: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A token pasted with a line's end within: Python's own error quotes it."""
    canary = "xoxb-canary\nsecond line"
    url, told = "https://slack.com/api/x", {"authorization": f"Bearer {canary}"}
    calls: dict[str, Callable[[], object]] = {
        "post": lambda: post.post(url, headers=told, body=b"{}"),
        "exchange": lambda: https.exchange(
            url, headers=told, most_bytes=100, timeout_seconds=2
        ),
    }
    with (
        server(answers(200, b""), monkeypatch) as asked,
        pytest.raises(Misconfigured) as wrong,
    ):
        calls[call]()

    assert asked == []
    assert "canary" not in "".join(traceback.format_exception(wrong.value))


def drips_headers(handler: BaseHTTPRequestHandler) -> None:
    handler.wfile.write(b"HTTP/1.1 200 OK\r\nX-Long: ")
    for _ in range(60):
        handler.wfile.write(b"x")
        handler.wfile.flush()
        time.sleep(0.05)


def drips_a_chunk_s_size(handler: BaseHTTPRequestHandler) -> None:
    handler.wfile.write(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
    for _ in range(60):
        handler.wfile.write(b"0")
        handler.wfile.flush()
        time.sleep(0.05)


@pytest.mark.parametrize("speak", [drips_headers, drips_a_chunk_s_size])
def test_answer_that_drips_before_its_body_is_given_up_in_time(
    speak: Speak, monkeypatch: pytest.MonkeyPatch
) -> None:
    with server(speak, monkeypatch):
        begun = time.monotonic()
        with pytest.raises(Unavailable):
            get(seconds=0.3)
        assert time.monotonic() - begun < 2.8


@pytest.mark.parametrize("host", [f"{'a' * 64}.example", "a..example"])
def test_host_that_no_name_can_be_is_unavailable(host: str) -> None:
    with pytest.raises(Unavailable, match="no name of a host"):
        https.get(f"https://{host}/", most_bytes=1000, timeout_seconds=2)
