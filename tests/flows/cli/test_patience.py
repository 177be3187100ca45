"""How long a sample's answer is waited for, and what is said when none comes."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator

import pytest

from cli.output import OutOfReachError
from cli.signers import Delivery
from cli.wire import Wire

DELIVERY = Delivery(method="POST", headers={}, body=b"{}")
OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\n{}"


@pytest.fixture
def busy() -> Iterator[str]:
    """An address where the first is answered, and nobody after it."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        held: list[socket.socket] = []

        def serve() -> None:
            while True:
                try:
                    call, _ = server.accept()
                except OSError:
                    return
                held.append(call)
                if len(held) == 1:
                    call.recv(65536)
                    call.sendall(OK)
                    call.close()

        threading.Thread(target=serve, daemon=True).start()
        yield f"http://127.0.0.1:{server.getsockname()[1]}/webhooks/github"
        server.shutdown(socket.SHUT_RDWR)
        for call in held:
            call.close()


def test_this_machine_is_waited_for_longer_than_aws_could_take() -> None:
    assert Wire("http://127.0.0.1:4566/x").patience_seconds > 120
    assert (
        Wire("https://abc.execute-api.eu-central-1.amazonaws.com/x").patience_seconds
        == 31
    )


def test_busy_machine_is_called_so(busy: str) -> None:
    wire = Wire(busy, patience_seconds=0.2)
    wire.post(DELIVERY)

    with pytest.raises(OutOfReachError, match=r"this machine is busy.* fewer at once"):
        wire.post(DELIVERY)


def test_burst_tells_what_was_answered_and_what_was_not(busy: str) -> None:
    wire = Wire(busy, patience_seconds=0.3)

    answers = wire.at_once([DELIVERY] * 3, lambda: None)

    assert sorted(answer.status for answer in answers) == [0, 0, 200]
    assert all("busy" in (a.error or "") for a in answers if a.status == 0)
