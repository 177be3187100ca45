"""Fleets, each synthesized once: the smallest, one near the limit, one of schedules."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from lambdas.shared.fleet import load
from tests.infra.template import Template

SMALL = """
[sources.github]

[agents.triage]
run = "agents.hello:run"
on = [{ source = "github", kind = "issues.opened" }]
"""

# 35 agents make some 440 resources; the stack refuses more than 450.
AGENTS = 35
LARGE = "\n".join(
    [
        "[fleet]",
        "ledger_days = 60",
        "warm = 1",
        "reserved_receivers = 25",
        'region = "eu-central-1"',
        *(f"[sources.{name}]" for name in ("github", "slack", "stripe", "linear")),
        "[sources.github-eu]",
        'sender = "github"',
        'secret_name = "github/eu"',
        *(
            f"""
[agents.agent-with-quite-a-long-name-{number}]
run = "agents.hello:run"
on = [{{ source = "github", kind = "kind-{number}" }}]
timeout_seconds = {3 + number}
memory_mb = {256 + number}
"""
            for number in range(AGENTS - 1)
        ),
        """
[agents.wide]
run = "agents.hello:run"
on = [
    { source = "stripe", kind = ["charge.failed", "invoice.*"] },
    { pattern = { source = ["aws.s3"], detail-type = ["Object Created"] } },
]
timeout_seconds = 900
max_receives = 10
secrets = ["bellhop/github-token", "bellhop/stripe"]
environment = { MODEL = "small" }
allow = [{ actions = ["s3:GetObject"], resources = ["arn:aws:s3:::b/key"] }]
""",
    ]
)
# Every kind of schedule; `often` is the most frequent, `cron` named like a function.
TIMED = """
[sources.github]

[agents.sweeper]
run = "agents.hello:run"

[schedules.cron]
agent = "sweeper"
cron = "0 6 ? * MON-FRI *"
timezone = "America/New_York"

[schedules.often]
agent = "sweeper"
rate = "15 minutes"
overlap = "queue"
flexible_minutes = 5

[schedules.once]
agent = "sweeper"
at = "2099-12-24T08:00:00"
timezone = "Europe/Berlin"
max_lateness_seconds = 600

[schedules.minutely]
agent = "sweeper"
cron = "* * * * ? *"

[schedules.paused]
agent = "sweeper"
rate = "2 days"
enabled = false

[digest]
email = ["team@example.com"]
"""
PLANNED = """
[sources.github]

[agents.closer]
run = "agents.hello:run"

[calendars.finance]
holidays = "US"
rules = [{ category = "month-end-close", agent = "closer" }]

[calendars.board]
rules = [{ category = "quarterly-board", agent = "closer" }]

[sources.edited]
sender = "feed"
format = "rss"
edits = "accept"
url = "https://example.com/edited.atom"
"""
POLLED = """
[sources.github]

[sources.releases]
sender = "feed"
format = "rss"
url = "https://example.com/releases.atom"

[sources.orders]
sender = "feed"
format = "json"
url = "https://shop.example/orders"
authorization = "bearer"
cron = "0 8 ? * MON-FRI *"
timezone = "Europe/Berlin"

[sources.private]
sender = "feed"
format = "rss"
rate = "1 minute"

[sources.paused]
sender = "feed"
format = "rss"
rate = "2 days"
enabled = false
url = "https://example.com/old"

[agents.reader]
run = "agents.hello:run"
on = [{ source = "releases", kind = "item" }]
"""
# Three workers that poll, as different as they can be, and one that Lambda calls.
HOURS = """
[sources.github]

[agents.researcher]
run = "agents.hello:run"
on = [{ source = "github", kind = "issues.opened" }]
compute = "fargate"
spot = true
cpu = 1024
memory_mb = 4096
max_concurrency = 40
heartbeat_seconds = 20
business_hours = "MON-FRI 09:00-18:00"
timezone = "Europe/Berlin"
expect_every_minutes = 60
secrets = ["bellhop/github-token"]
environment = { MODEL = "large" }
allow = [{ actions = ["s3:GetObject"], resources = ["arn:aws:s3:::b/key"] }]

[agents.night-shift]
run = "agents.hello:run"
on = [{ source = "github", kind = "push" }]
compute = "fargate"
max_concurrency = 1
business_hours = "MON,FRI 22:00-06:00"
expect_every_minutes = 30

[agents.digger]
run = "agents.hello:run"
on = [{ source = "github", kind = "issues.closed" }]
compute = "fargate"

[agents.triage]
run = "agents.hello:run"
on = [{ source = "github", kind = "issues.opened" }]
"""
FLEETS = {
    "small": SMALL,
    "large": LARGE,
    "timed": TIMED,
    "planned": PLANNED,
    "polled": POLLED,
    "hours": HOURS,
}


@pytest.fixture(scope="session")
def templates(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Template]:
    """The templates of all fleets, by name."""
    # Imported here: CDK takes seconds to load, and other tests do without.
    from stacks.assembly import synthesise

    made = {}
    for name, text in FLEETS.items():
        folder = tmp_path_factory.mktemp(name)
        path = folder / "fleet.toml"
        path.write_text(text, encoding="utf-8")
        synthesise(load(path), fleet_path=path, outdir=folder / "out")
        made[name] = read(folder / "out")
    return made


@pytest.fixture(params=sorted(FLEETS))
def template(
    request: pytest.FixtureRequest, templates: dict[str, Template]
) -> Template:
    """The template of each fleet in turn."""
    return templates[request.param]


@pytest.fixture
def timed(templates: dict[str, Template]) -> Template:
    """The template of the fleet with schedules."""
    return templates["timed"]


@pytest.fixture
def hours(templates: dict[str, Template]) -> Template:
    """The template of the fleet whose workers poll."""
    return templates["hours"]


@pytest.fixture
def large(templates: dict[str, Template]) -> Template:
    """The template of the large fleet."""
    return templates["large"]


def read(outdir: Path) -> Template:
    """Return the template of the assembly in ``outdir``."""
    text = (outdir / "Bellhop.template.json").read_text(encoding="utf-8")
    return Template(json.loads(text))
