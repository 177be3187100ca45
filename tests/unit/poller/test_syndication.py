"""RSS, RDF and Atom as they are met, and as a stranger would hurt us with them."""

from __future__ import annotations

import json
import tracemalloc
from datetime import UTC, datetime, timedelta

import pytest

from lambdas.poller.item import MOST_ITEMS, Refused
from lambdas.poller.syndication import read
from tests.fakes.feeds import item, rss

ATOM = """<?xml version="1.0" encoding="utf-8"?>
<feed xmlns="http://www.w3.org/2005/Atom" xmlns:media="http://search.yahoo.com/mrss/">
<id>tag:the-feed</id><title>Releases</title><updated>2026-11-29T10:00:00Z</updated>
<entry>
 <id>tag:one</id><title type="html">1 &amp;lt; 2</title><media:title>no</media:title>
 <link rel="self" href="https://example.com/self"/><link href="https://example.com/1"/>
 <link rel="enclosure" href="https://example.com/a.mp3" type="audio/mpeg" length="3"/>
 <author><name>Ann</name><uri>https://example.com/ann</uri></author>
 <category term="new"/><category term="new"/>
 <published>2026-11-28T10:00:00+01:00</published><updated>2026-11-29T10:00:00Z</updated>
 <content type="xhtml"><div xmlns="http://www.w3.org/1999/xhtml">so <b>much</b></div>
 </content>
</entry></feed>"""

RDF = """<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#"
 xmlns="http://purl.org/rss/1.0/" xmlns:dc="http://purl.org/dc/elements/1.1/"
 xmlns:sy="http://purl.org/rss/1.0/modules/syndication/">
<channel rdf:about="https://example.com/"><title>Old</title>
 <sy:updatePeriod>daily</sy:updatePeriod><sy:updateFrequency>2</sy:updateFrequency>
</channel>
<item rdf:about="https://example.com/a"><title>A</title>
 <link>https://example.com/a?b</link><dc:date>2026-11-28T10:00Z</dc:date>
 <dc:creator>Bo</dc:creator><dc:subject>talk</dc:subject></item></rdf:RDF>"""

RSS_091 = """<?xml version="1.0" encoding="ISO-8859-1"?>
<!DOCTYPE rss PUBLIC "-//Netscape//DTD RSS 0.91//EN" "https://example.com/rss.dtd">
<rss version="0.91"><channel><title>Caf\xe9</title>
<item><title>Cr\xe8me&nbsp;&eacute;</title><link>https://example.com/1</link></item>
</channel></rss>""".encode("latin-1")


def only(body: bytes | str, content_type: str = "") -> dict[str, object]:
    """Return the one item's values that hold anything."""
    raw = body.encode() if isinstance(body, str) else body
    (found,) = read(raw, content_type).items
    return {name: value for name, value in found.data.items() if value}


def test_atom_is_read_by_its_own_elements_and_no_others() -> None:
    assert only(ATOM) == {
        "id": "tag:one",
        "link": "https://example.com/1",
        "title": "1 &lt; 2",
        "author": "Ann",
        "categories": ["new"],
        "published": "2026-11-28T10:00:00+01:00",
        "updated": "2026-11-29T10:00:00Z",
        "content": "so much",
        "enclosures": [
            {"url": "https://example.com/a.mp3", "type": "audio/mpeg", "length": "3"}
        ],
    }
    assert read(ATOM.encode()).items[0].at == datetime(2026, 11, 28, 9, tzinfo=UTC)


def test_rdf_is_read_with_how_often_it_wants_to_be() -> None:
    assert only(RDF) == {
        "id": "https://example.com/a",
        "link": "https://example.com/a?b",
        "title": "A",
        "author": "Bo",
        "categories": ["talk"],
        "published": "2026-11-28T10:00Z",
    }
    assert read(RDF.encode()).wait == timedelta(hours=12)


def test_old_rss_names_a_document_that_nobody_fetches_and_characters_of_html() -> None:
    found = only(RSS_091)

    assert found["title"] == "Crème\xa0é"
    assert found["id"] == found["link"] == "https://example.com/1"


def test_rss_says_how_long_it_is_good() -> None:
    assert read(rss(head="<ttl>90</ttl>")).wait == timedelta(minutes=90)
    assert read(rss(head="<ttl>soon</ttl>")).wait == timedelta(0)


def test_guid_is_the_link_where_it_is_one() -> None:
    link = "https://example.com/1"

    assert only(rss(item(link)))["link"] == link
    assert "link" not in only(
        rss(f'<item><guid isPermaLink="false">{link}</guid></item>')
    )


def test_item_without_an_id_gets_its_hash_and_another_when_it_is_edited() -> None:
    ids = [
        read(rss(f"<item><title>{title}</title></item>")).items[0].id
        for title in ("a", "a", "b")
    ]

    assert ids[0] == ids[1] != ids[2]
    assert ids[0].startswith("sha256-")


@pytest.mark.parametrize(
    ("text", "at"),
    [
        ("Mon, 29 Nov 2026 12:00:00 +0100", datetime(2026, 11, 29, 11, tzinfo=UTC)),
        ("29 Nov 26 12:00 GMT", datetime(2026, 11, 29, 12, tzinfo=UTC)),
        ("2026-11-29", datetime(2026, 11, 29, tzinfo=UTC)),
        ("2026-11-29T12:00", datetime(2026, 11, 29, 12, tzinfo=UTC)),
        ("1795953600", datetime(2026, 11, 29, 12, tzinfo=UTC)),
        ("3 hours ago", None),
        ("Lun, 29 Nov 2026", None),
        ("99999-01-01", None),
        ("Mon, 99 Nov 2026 99:00:00 +9999", None),
        ("9" * 5000, None),
        ("", None),
    ],
)
def test_times_are_read_or_passed_over(text: str, at: datetime | None) -> None:
    (found,) = read(rss(item("a", pubDate=text))).items

    assert found.at == at


@pytest.mark.parametrize(
    ("encoding", "declared", "header"),
    [
        ("utf-8", "", ""),
        ("utf-8-sig", "latin-1", "text/xml; charset=latin-1"),
        ("utf-16", "utf-16", ""),
        ("utf-16-le", "utf-16", ""),
        ("windows-1252", "windows-1252", ""),
        ("koi8-r", "koi8-r", ""),
        ("shift_jis", "Shift_JIS", ""),
        ("gb2312", "GB2312", ""),
        ("euc-kr", "euc-kr", ""),
        ("iso-8859-1", "utf-8", 'text/xml; charset="ISO-8859-1"'),
        ("utf-8", "klingon", "text/xml; charset=rot13"),
        ("utf-8", "utf-16", ""),  # which it cannot be: we could not read this
    ],
)
def test_text_is_read_in_whatever_encoding_it_came(
    encoding: str, declared: str, header: str
) -> None:
    words = {"koi8-r": "Привет", "shift_jis": "日本", "gb2312": "中国"}
    title = {**words, "euc-kr": "한국"}.get(encoding, "Crème brûlée")
    head = f'<?xml version="1.0" encoding="{declared}"?>' if declared else ""

    body = (head + rss(item("a", title=title)).decode()).encode(encoding)

    assert only(body, header)["title"] == title


def test_bytes_that_spell_nothing_and_characters_that_xml_has_not_are_survived() -> (
    None
):
    broken = rss(item("a", title="x\x0b\x00y \ufffe")).replace(
        b"y", b"\xff\xfe&#0;&#x1f;"
    )

    assert only(b"\n \n" + broken)["title"] == "x\ufffd\ufffd"


LAUGHS = "".join(f'<!ENTITY l{n} "{f"&l{n - 1};" * 10}">' for n in range(1, 10))


@pytest.mark.parametrize(
    ("body", "why"),
    [
        (b"", "it is empty"),
        (b" \n\t", "it is empty"),
        (b"<!DOCTYPE html><html><body>sign in", "it is a page"),
        (b"<html xmlns='x'><body/></html>", "it is a page"),
        (b"{}", "broken XML"),
        (b"<opml/>", "its root is <opml>"),
        (b"<rss><channel><item>", "broken XML"),
        (b"<rss><channel><item></channel></rss>", "broken XML"),
        (b"<rss>&undefined;</rss>", "broken XML: undefined entity"),
        (b"\x00\x01\x02" * 100, "it is empty"),
        (b"<a>" * 100_000, "its root is <a>"),
        (b"<rss>" + b"<a>" * 100_000, "nested 200 deep"),
        (
            f'<!DOCTYPE rss [<!ENTITY l0 "ha">{LAUGHS}]><rss>&l9;</rss>'.encode(),
            "it declares entities",
        ),
        (
            b'<!DOCTYPE rss [<!ENTITY x SYSTEM "file:///etc/passwd">]><rss>&x;</rss>',
            "it declares entities",
        ),
        (
            b'<!DOCTYPE rss [<!ENTITY % p SYSTEM "https://example.com/d"> %p;]><rss/>',
            "it declares entities",
        ),
        (rss(*[item("a")] * (MOST_ITEMS + 1)), "more than 20000 items"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_what_is_no_feed_is_refused_in_a_sentence(body: bytes, why: str) -> None:
    with pytest.raises(Refused, match=f"^.*{why}"):
        read(body)


def test_a_feed_of_nothing_but_elements_takes_little(full_size: bool) -> None:
    """In full size the most that the way out lets through."""
    elements = 2_400_000 if full_size else 120_000
    body = rss("<item>" + "<a/>" * elements + "</item>")
    tracemalloc.start()

    (found,) = read(body).items

    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert json.loads(found.body)["title"] == ""
    assert peak < 8 * len(body) + 5_000_000
