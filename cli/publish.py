"""What a sender publishes (certificates, keys), put into the local outside world."""

from __future__ import annotations

import json
import urllib.request
from collections.abc import Mapping

from cli.output import OutOfReachError


def publish(world_url: str, pages: Mapping[str, bytes]) -> None:
    """Let the outside world answer at each ``https://`` address with its page.

    Raises:
        OutOfReachError: the outside world does not answer.
    """
    for address, page in pages.items():
        path = f"/{address.removeprefix('https://').partition('?')[0]}"
        told = json.dumps({"path": path, "text": page.decode()}).encode()
        request = urllib.request.Request(  # noqa: S310 - the local stack's own
            f"{world_url}/_serve",
            data=told,
            headers={"Content-Type": "application/json"},
        )
        try:
            urllib.request.urlopen(request, timeout=10).close()  # noqa: S310
        except OSError as error:
            raise OutOfReachError(
                f"the outside world at {world_url}: {error}"
            ) from error
