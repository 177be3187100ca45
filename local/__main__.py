"""``python -m local up|down|demo``: what ``make up``, ``down`` and ``demo`` run."""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

from lambdas.shared.errors import Misconfigured
from local import up as lifecycle
from local.home import ROOT, Home, LocalError
from local.stack import check_point


def main() -> int:
    """Run the command; returns 0, or 1 with one sentence on standard error."""
    arguments = _arguments()
    home = Home(arguments.folder.resolve())
    try:
        if arguments.command == "up":
            return _up(home, arguments)
        if arguments.command == "down":
            was_running = lifecycle.down(home, say=_say)
            _say("the local stack is down" if was_running else "nothing was running")
            return 0
        from local.demo.story import tell

        return tell(home)
    except (LocalError, Misconfigured) as error:
        print(f"bellhop: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("\nstopped; nothing is left running", file=sys.stderr)
        return 130


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m local", description=__doc__)
    parser.add_argument("command", choices=["up", "down", "demo"])
    parser.add_argument(
        "--folder",
        type=Path,
        default=ROOT / ".local",
        help="where the running stack keeps its files (default: .local)",
    )
    parser.add_argument("--port", type=int, default=0, help="default: any free one")
    parser.add_argument(
        "--no-auth",
        action="store_true",
        help="let the engine take every call, whatever the policies say",
    )
    return parser.parse_args()


def _up(home: Home, arguments: argparse.Namespace) -> int:
    fleet = Path(os.environ.get("BELLHOP_FLEET") or ROOT / "fleet.toml")
    point = os.environ.get("BELLHOP_KILL_AT")
    if point:
        check_point(point)
    stack, held = lifecycle.up(
        home, fleet=fleet, port=arguments.port, auth=not arguments.no_auth, say=_say
    )
    if point:
        stack.arm(point)
    lifecycle.keep(held)
    print(f"ready: {stack.webhook_url('<source>')}  (`make down` ends it)")
    return 0


def _say(line: str) -> None:
    # At once also into a pipe: a complaint on the other stream must not overtake it.
    print(line, flush=True)


if __name__ == "__main__":
    sys.exit(main())
