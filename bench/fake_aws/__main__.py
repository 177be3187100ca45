"""``python -m bench.fake_aws [--latency SERVICE=MS ...]``: prints its port."""

from __future__ import annotations

import argparse
import asyncio
import json

from bench.fake_aws.services import Aws

_CONTINUE = b"HTTP/1.1 100 Continue\r\n\r\n"


class Connection(asyncio.Protocol):
    """One kept-alive connection of a client, which waits for each answer."""

    def __init__(self, aws: Aws, delays: dict[str, float]) -> None:
        """``delays`` are seconds by service."""
        self._aws = aws
        self._delays = delays
        self._buffer = bytearray()
        self._told_to_go_on = False
        self._transport: asyncio.Transport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Keep the way back."""
        assert isinstance(transport, asyncio.Transport)  # noqa: S101 - for mypy
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        """Answer as soon as a request is whole."""
        self._buffer += data
        end = self._buffer.find(b"\r\n\r\n")
        if end < 0:
            return
        lines = self._buffer[:end].decode("latin-1").split("\r\n")
        headers = {
            name.lower(): value.strip()
            for name, _, value in (line.partition(":") for line in lines[1:])
        }
        whole = end + 4 + int(headers.get("content-length", 0))
        if len(self._buffer) < whole:
            if "expect" in headers and not self._told_to_go_on:
                self._told_to_go_on = True
                self._send(_CONTINUE)
            return
        body = bytes(self._buffer[end + 4 : whole])
        del self._buffer[:whole]
        self._told_to_go_on = False
        method, path, _ = lines[0].split(" ")
        self._answer(method, path, headers.get("x-amz-target", ""), body)

    def _answer(self, method: str, path: str, target: str, body: bytes) -> None:
        if target:
            service, (status, values) = self._aws.call(target, body)
            reply = json.dumps(values, separators=(",", ":")).encode()
        elif path.startswith("/_bench/"):
            service, status = "bench", 200
            reply = json.dumps(self._aws.told()).encode()
            if method == "POST":
                self._aws.reset()
        else:
            found = self._aws.s3(method, path, body)
            service, status, reply = "s3", 404 if found is None else 200, found or b""
        head = (
            f"HTTP/1.1 {status} .\r\ncontent-type: application/x-amz-json-1.0\r\n"
            f"x-amzn-requestid: bench\r\ncontent-length: {len(reply)}\r\n\r\n"
        )
        delay = self._delays.get(service, 0.0)
        if delay:
            loop = asyncio.get_running_loop()
            loop.call_later(delay, self._send, head.encode() + reply)
        else:
            self._send(head.encode() + reply)

    def _send(self, data: bytes) -> None:
        if self._transport is not None and not self._transport.is_closing():
            self._transport.write(data)


async def _serve(delays: dict[str, float]) -> None:
    aws = Aws()
    loop = asyncio.get_running_loop()
    server = await loop.create_server(lambda: Connection(aws, delays), "127.0.0.1", 0)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


def main() -> None:
    """Serve until ended."""
    parser = argparse.ArgumentParser(prog="python -m bench.fake_aws")
    parser.add_argument("--latency", action="append", default=[], metavar="SERVICE=MS")
    pairs = (text.split("=") for text in parser.parse_args().latency)
    asyncio.run(_serve({name: float(ms) / 1000 for name, ms in pairs}))


if __name__ == "__main__":
    main()
