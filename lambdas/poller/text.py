"""The text of a document, whatever it is encoded in."""

from __future__ import annotations

import codecs
import re

_BOMS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
# Without a mark: how an opening bracket looks in two bytes.
_WIDE = ((b"<\0", "utf-16-le"), (b"\0<", "utf-16-be"))
_CHARSET = re.compile(r"charset\s*=\s*[\"']?([A-Za-z0-9_.:-]{1,40})", re.ASCII)
_DECLARED = re.compile(rb"^\s*<\?xml[^>]{0,200}?encoding\s*=\s*[\"']([\w.:-]{1,40})")
# Of Python's codecs only what a document is written in: some of the others
# ("punycode") take minutes for what these take milliseconds for.
_KNOWN = re.compile(
    r"utf-?8|utf-?(16|32)([_-]?[lb]e)?|(us-)?ascii|iso[_-]?8859[_-]\d{1,2}|latin-?\d"
    r"|windows-?125\d|cp\d{3,4}|koi8[_-][rut]|mac[_-]?roman|shift[_-]?jis|sjis"
    r"|euc[_-]?(jp|kr)|iso[_-]?2022[_-]jp|gb2312|gbk|gb18030|big5(hkscs)?|tis-?620",
    re.IGNORECASE,
)


def decoded(body: bytes, content_type: str) -> str:
    """Return ``body`` as text; what it does not spell well is replaced.

    A mark at the beginning counts first, then the header, then what an XML document
    says of itself, then UTF-8. An unknown encoding is passed over.
    """
    for mark, name in _BOMS:
        if body.startswith(mark):
            return body.decode(name, "replace").removeprefix("\ufeff")
    for start, name in _WIDE:
        if body.startswith(start):
            return body.decode(name, "replace")
    header = _CHARSET.search(content_type)
    declared = _DECLARED.match(body)
    told = [header[1] if header else "", declared[1].decode() if declared else ""]
    for name in (*told, "utf-8"):
        if _KNOWN.fullmatch(name) and not name.lower().startswith(("utf-16", "utf-32")):
            try:
                return body.decode(name, "replace")
            except LookupError:
                continue
    return body.decode("utf-8", "replace")
