"""Ours, one request at a time: the parent counts the AWS calls between two of them.

A line names the kind of request; the answer is the status of each it took.
"""

from __future__ import annotations

import json
import os
import sys
from typing import Any

from bench.made import Context
from bench.receiver.kinds import KINDS
from lambdas.receiver.handler import handle


def main() -> None:
    """Answer until the parent closes."""
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    context: Any = Context()
    for line in sys.stdin:
        answer = handle(KINDS[line.strip()](), context)
        answers.write(json.dumps(answer["statusCode"]) + "\n")
        answers.flush()


if __name__ == "__main__":
    main()
