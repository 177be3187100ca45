"""`bellhop work` in a terminal: the same worker, until Ctrl-C."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

from local.home import ROOT, Home
from local.stack import LocalStack, wait_for
from tests.e2e.crash.till import Till
from tests.e2e.long.crew import Crew
from tests.e2e.long.scene import Play

AGENT = "terminal"


def test_worker_of_the_terminal_runs_what_comes_until_it_is_interrupted(
    home: Home, mine: LocalStack, mine_till: Till, crew: Crew, tmp_path: Path
) -> None:
    play = Play(home=home, stack=mine, till=mine_till, crew=crew, agent=AGENT)
    log = tmp_path / "terminal.log"
    with log.open("wb") as output:
        bellhop = subprocess.Popen(
            [Path(sys.executable).with_name("bellhop"), "work", AGENT, "--local"],
            cwd=ROOT,
            env={**os.environ, "BELLHOP_LOCAL_FOLDER": str(home.folder)},
            stdout=output,
            stderr=subprocess.STDOUT,
        )
    order = play.rings("2")

    order.waits_for("SUCCEEDED")
    assert wait_for(lambda: mine.waiting(play.queue_url) == 0)
    bellhop.send_signal(signal.SIGINT)

    assert bellhop.wait(60) == 0
    text = log.read_text(encoding="utf-8")
    assert '"message":"worker started"' in text
    assert f'"pid":{bellhop.pid}' in text
    assert text.rstrip().splitlines()[-1].count('"message":"worker stopped"') == 1
