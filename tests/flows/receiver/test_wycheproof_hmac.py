"""HMAC under hostile tags: Wycheproof's cases, through a sender that signs the body."""

from __future__ import annotations

import base64
import json
from collections import Counter
from pathlib import Path

from tests import real_data
from tests.unit.receiver.door import Call, Door

_WHOLE_BITS = 256


def test_only_whole_and_right_tags_prove(fixtures: Path) -> None:
    """Adyen's key is hex and its tag covers the body alone, whatever that is."""
    path = fixtures / "vectors/wycheproof/hmac_sha256_test.json"
    groups = json.loads(path.read_text(encoding="utf-8"))["testGroups"]
    counts: Counter[str] = Counter()

    for group in groups:
        for case in group["tests"]:
            door = Door("adyen", identity="body")
            door.secret = case["key"]
            tag = base64.b64encode(bytes.fromhex(case["tag"])).decode()
            body = bytes.fromhex(case["msg"])

            heard = door.knock(
                Call(headers={"HmacSignature": tag}, body=body, base64=True)
            )

            is_whole = group["tagSize"] == _WHOLE_BITS
            wanted = case["result"] == "valid" and is_whole
            # A proven body that is no JSON is malformed, and never stored.
            assert (heard.status, wanted) in {(400, True), (401, False)}, case["tcId"]
            assert door.accepted == []
            counts["proven" if wanted else "refused"] += 1
            if not is_whole:
                counts["refused for its length"] += 1
    real_data.used("wycheproof cases", counts["proven"] + counts["refused"])
    assert counts["proven"] > 30
    assert counts["refused"] > 50
    assert counts["refused for its length"] > 50


def test_tag_in_another_spelling_does_not_prove(fixtures: Path) -> None:
    path = fixtures / "vectors/wycheproof/hmac_sha256_test.json"
    group = json.loads(path.read_text(encoding="utf-8"))["testGroups"][0]
    case = next(c for c in group["tests"] if c["result"] == "valid" and c["msg"])
    tag = base64.b64encode(bytes.fromhex(case["tag"])).decode()
    spelled = [tag.rstrip("="), f"{tag}=", f"{tag}\n", tag.swapcase(), f"{tag} {tag}"]

    for text in spelled:
        door = Door("adyen", identity="body")
        door.secret = case["key"]
        body = bytes.fromhex(case["msg"])
        call = Call(headers={"HmacSignature": text}, body=body, base64=True)

        assert door.knock(call).status == 401, text
