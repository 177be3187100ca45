"""Pages point at things that are there."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from lambdas.shared.story import Category

ROOT = Path(__file__).resolve().parents[2]
PAGES = [ROOT / "README.md", ROOT / "CHANGELOG.md", *sorted(ROOT.glob("docs/**/*.md"))]

_LINK = re.compile(r"\]\(([^)#\s]+)(?:#[^)]*)?\)")
_MAKE = re.compile(r"(?:^|`)make ([a-z-]+)", re.MULTILINE)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page: Path) -> None:
    targets = _LINK.findall(page.read_text(encoding="utf-8"))
    inside = [target for target in targets if "://" not in target]

    assert [each for each in inside if not (page.parent / each).exists()] == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_make_commands_exist(page: Path) -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    known = set(re.findall(r"^([a-z-]+):", makefile, re.MULTILINE))

    assert set(_MAKE.findall(page.read_text(encoding="utf-8"))) <= known


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_command_to_be_copied_works_in_a_fresh_shell(page: Path) -> None:
    """README says once what `bellhop` is short for; a block is pasted as it is."""
    blocks = page.read_text(encoding="utf-8").split("```")[1::2]

    assert [b for b in blocks if re.search(r"^\s*bellhop ", b, re.MULTILINE)] == []


def test_every_decision_is_in_the_list() -> None:
    folder = ROOT / "docs/decisions"
    listed = (folder / "README.md").read_text(encoding="utf-8")

    pages = [path.name for path in folder.glob("0*.md")]
    assert len(pages) >= 6
    assert [name for name in pages if f"({name})" not in listed] == []


def test_every_category_of_a_reason_is_explained() -> None:
    page = (ROOT / "docs/reference/errors.md").read_text(encoding="utf-8")

    told = re.findall(r"^\| `([a-z_]+)` \|", page, re.MULTILINE)
    assert sorted(told) == sorted(Category)


def test_every_page_is_reached_from_the_readme() -> None:
    reached: set[Path] = set()
    ahead = [ROOT / "README.md"]
    while ahead:
        page = ahead.pop()
        if page in reached or page.suffix != ".md":
            continue
        reached.add(page)
        targets = _LINK.findall(page.read_text(encoding="utf-8"))
        ahead += [(page.parent / each).resolve() for each in targets if ":" not in each]

    assert [str(page.relative_to(ROOT)) for page in PAGES if page not in reached] == []
