"""``python -m local.setup [all | lock | sdk | bench]``: make what is missing."""

from __future__ import annotations

import sys

from local.setup import environments
from local.setup.shell import SetupError


def main(arguments: list[str]) -> int:
    """Run the command; a failure is one sentence and exit code 1."""
    if arguments not in ([], ["all"], ["lock"], ["sdk"], ["bench"]):
        sys.stderr.write("usage: python -m local.setup [all | lock | sdk | bench]\n")
        return 2
    try:
        environments.set_up(relock=arguments == ["lock"])
        if arguments == ["sdk"]:
            environments.set_up_sdks()
        if arguments == ["bench"]:
            environments.set_up_bench()
    except SetupError as error:
        sys.stderr.write(f"set-up: {error}\n")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
