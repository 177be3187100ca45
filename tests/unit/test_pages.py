"""The senders' pages say what their modules say."""

from __future__ import annotations

import re
import tomllib

import pytest

from lambdas.shared import senders
from lambdas.shared.fleet import parse
from local import pages

WANTED = pages.pages()


@pytest.mark.parametrize("name", sorted(WANTED))
def test_page_is_as_its_module_says(name: str) -> None:
    file = pages.FOLDER / name

    assert file.exists(), "run `python -m local.pages`"
    assert file.read_text("utf-8") == WANTED[name], "run `python -m local.pages`"


def test_there_is_a_page_for_every_sender_and_no_other() -> None:
    found = {file.stem for file in pages.FOLDER.glob("*.md")} - {"README"}

    assert found == set(senders.names())


@pytest.mark.parametrize("name", senders.names())
def test_table_of_a_page_is_accepted_by_the_fleet(name: str) -> None:
    (toml,) = re.findall(r"```toml\n(.*?)```", WANTED[f"{name}.md"], re.S)
    if "[fleet]" not in toml:
        toml = f"[fleet]\nwarm = 0\n\n{toml}"
    fleet = parse(toml, find_traits=senders.traits)

    assert [source.sender for source in fleet.sources.values()] == [name]
    assert tomllib.loads(toml)["sources"]
