"""`poll`: a file beforehand, a dry run, and a look that counts."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import boto3
import pytest
from typer.testing import CliRunner

from cli.main import app
from tests.fakes.feeds import numbered, rss
from tests.flows.cli.conftest import FLEET, Stack
from tests.flows.poller.test_handler import Page, Site

MORE = """
[sources.news]
sender = "feed"
format = "rss"
url = "https://feeds.example/news"
first_run = 2

[sources.private]
sender = "feed"
format = "json"
"""
NEWS = "/feeds.example/news"


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Site]:
    """A site, and a fleet with feeds."""
    file = tmp_path / "polled.toml"
    file.write_text(FLEET + MORE, encoding="utf-8")
    monkeypatch.setenv("BELLHOP_FLEET", str(file))
    site = Site()
    url = f"http://127.0.0.1:{site.server.server_port}"
    monkeypatch.setenv("BELLHOP_WORLD_URL", url)
    yield site
    site.server.shutdown()
    site.server.server_close()


@pytest.fixture
def deployed(
    stack: Stack, site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Stack:
    """The stack, deployed with that fleet."""
    monkeypatch.setenv("BELLHOP_FLEET", str(tmp_path / "polled.toml"))
    return stack


def beforehand(*words: str) -> tuple[int, str]:
    result = CliRunner().invoke(app, ["poll", *words])
    return result.exit_code, result.output


def test_file_needs_no_stack(site: Site, tmp_path: Path) -> None:
    file = tmp_path / "news.xml"
    file.write_bytes(rss(*numbered(5)))

    code, said = beforehand("news", "--feed", str(file))

    assert code == 0
    assert "news:i4" in said
    assert "About i5" in said
    assert "passed over: 3, there before the feed was known" in said


def test_address_needs_no_stack(site: Site) -> None:
    site.pages["/other.example/feed"] = Page(rss(*numbered(1)))

    code, said = beforehand("news", "--feed", "https://other.example/feed")

    assert (code, "news:i1" in said) == (0, True)


@pytest.mark.parametrize(
    ("words", "code", "why"),
    [
        (["news", "--feed", "absent.xml"], 2, "No such file"),
        (["news", "--feed", "http://feeds.example/"], 1, "want https://"),
        (["news", "--feed", "https://feeds.example/no"], 1, "answered 404"),
        (["news", "--feed", "/dev/zero"], 1, "more than 10000000"),
        (["github", "--feed", "absent.xml"], 2, "there are: news, private"),
    ],
    ids=["no file", "http", "404", "endless", "no feed"],
)
def test_what_cannot_be_looked_at_is_one_sentence(
    site: Site, words: list[str], code: int, why: str
) -> None:
    ended, said = beforehand(*words)

    assert (ended, why in said) == (code, True), said
    assert len(said.splitlines()) == 1


def test_dry_run_writes_nothing_and_a_look_does(site: Site, deployed: Stack) -> None:
    site.pages[NEWS] = Page(rss(*numbered(3)))

    shown = deployed.run("poll", "news", "--dry-run")
    assert [row["id"] for row in shown.json] == ["news:i2", "news:i3"]
    assert deployed.table.get("news:i3", "event") is None

    said = deployed.run("poll", "news").json
    assert (said["state"], said["accepted"], said["passed"]) == ("read", 2, 1)
    assert deployed.table.get("news:i3", "event") is not None
    assert deployed.run("poll", "news", "--dry-run").json == []
    ((what, about),) = [(e["what"], e["about"]) for e in deployed.run("audit").json]
    assert (what, about) == ("feed looked at by hand: read", "news")


def test_look_says_when_it_may_look_again(site: Site, deployed: Stack) -> None:
    site.pages[NEWS] = Page(rss(), headers={"Cache-Control": "max-age=600"})
    deployed.run("poll", "news")

    answer = deployed.run("poll", "news", text=True)

    assert answer.code == 0
    assert "not yet: it asks to be left alone" in answer.out
    assert "not before" in answer.out
    assert len(site.asked) == 1


def test_feed_that_is_not_obeyed_ends_with_one(site: Site, deployed: Stack) -> None:
    site.pages[NEWS] = Page(status=410)

    looked = deployed.run("poll", "news", text=True)
    dry = deployed.run("poll", "news", "--dry-run", text=True)

    assert (looked.code, dry.code) == (1, 1)
    assert "not obeyed: feeds.example answered 410" in looked.out
    assert "not obeyed: feeds.example answered 410" in dry.err
    # Somebody who says it again means it.
    site.pages[NEWS] = Page(rss())
    assert deployed.run("poll", "news").json["state"] == "read"


def test_feed_is_never_called(site: Site, deployed: Stack) -> None:
    answer = deployed.run("send", "news", text=True)

    assert answer.code == 2
    assert "is looked at and never called: `bellhop poll news`" in answer.err


def test_address_is_set_as_any_secret(site: Site, deployed: Stack) -> None:
    boto3.client("secretsmanager").create_secret(
        Name="bellhop/private", SecretString="made up"
    )
    site.pages["/private.example/key"] = Page(b'[{"id": 1}]')
    assert deployed.run("poll", "private").code == 1
    (unset,) = deployed.run("secret", "status", "private").json
    assert unset["note"] == "the feed's address: want https://"
    wrong = deployed.run("secret", "set", "private", stdin="http://private.example/")
    assert wrong.code == 2
    assert "not stored: the feed's address: want https://" in wrong.err

    set_ = deployed.run(
        "secret", "set", "private", stdin="https://private.example/key", text=True
    )

    assert set_.code == 0, set_.err
    assert deployed.run("poll", "private").json["items"] == 1
