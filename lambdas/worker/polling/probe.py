"""``python -m lambdas.worker.polling.probe``: the container's health check.

The image holds no curl. It is asked every half minute: nothing is imported for it
but what it needs.
"""

from __future__ import annotations

import sys

ADDRESS = "127.0.0.1:8080"


def main(address: str = ADDRESS) -> int:
    """Ask ``/healthz``; returns 0 where it is well, 1 where stuck or silent."""
    # Imported here: whoever asks for the address alone goes nowhere.
    from lambdas.shared.adapters.asking import get

    status, text = get(address, "/healthz")
    sys.stdout.write(text)
    return 0 if status == 200 else 1


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
