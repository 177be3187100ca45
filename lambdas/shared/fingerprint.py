"""Tells whether two failures are the same fault, from what an exception says.

What a person would pass over is masked: numbers, ids, addresses, what a user
typed. What tells faults apart is kept: the status, the error's code, the name
of an attribute or key. Where the other side is known, it and the words are the
fault; where not, the place in the agent's code belongs to it.
"""

from __future__ import annotations

import hashlib
import json
import re
import traceback
from collections.abc import Iterable, Mapping
from typing import Any

from lambdas.shared import hosts

# A message may quote a whole body; its beginning tells the fault.
_LOOKED_AT = 1000
_DEEPEST = 6

# Of what a service answers, these are about the fault; ids, links and what was
# sent are about the occurrence.
_TELLING = frozenset(
    {
        *("code", "decline_code", "detail", "error", "error_code", "error_type"),
        *("errorcode", "errormessage", "errors", "errortype", "fault", "field"),
        *("kind", "loc", "message", "messages", "msg", "param", "path", "reason"),
        *("resource", "status", "statuscode", "title", "type"),
    }
)

_STATUS = (
    # Announced by a word, such as "Error code: 429" or "[Errno 111]".
    r"(?i:(?<![a-z])(?:code|status(?:[ _]code)?|http ?(?:\w*error)?(?:/\d(?:\.\d)?)?"
    r"|errno)[:=\s]\s*)(-?\d{1,5})(?!\d)"
    # Followed by its own words, such as "503 Server Error".
    r"|(?<![\w.])([1-5]\d\d)(?= [A-Z{]|, b?['\"]|, message)"
)
_KEPT_NUMBER = re.compile(_STATUS)

# What stands before a quoted name of the program's own, and after one.
_NAMES_CODE = re.compile(
    r"(?i:attribute|argument|arguments|parameter|column|table|relation|field|key|"
    r"property|module|name|named|import|codec|method|function|operation|operator|"
    r"encoding|delimiter|expecting|index|type|types|constraint|from|and|with|not|"
    r"for|for [-+*/%<>=@|&^]{1,2}:) ?:?\s?$"
)
_IS_CODE = re.compile(
    r"^ (?i:object|codec|and|has|is not defined|is a required|must|missing|takes|"
    r"required|instances|type|argument|delimiter|attribute|indices|not supported)"
)
_WORD = re.compile(r"[A-Za-z_][A-Za-z_]{0,39}|[,:;{}\[\]()]")
# A field's name, where 'XAU', 'Lyon' and 'SKU-89917' are what was looked up in it.
_FIELD = re.compile(r"[a-z_][A-Za-z_]{0,39}")
_STATUS_LINE = re.compile(r"[1-5]\d\d [A-Z]")
# Not inside a word: "organization's" opens nothing.
_QUOTED = re.compile(
    r"(?<!\w)'((?:[^'\\\n]|\\.){0,300})'(?!\w)"
    r'|(?<!\w)"((?:[^"\\\n]|\\.){0,300})"(?!\w)'
)
_WHOLLY_QUOTED = re.compile(r"""\s*b?(['"])(.*)\1\s*""", re.DOTALL)

# What a validator quotes of the input, a command that was run, where a text could not
# be decoded, how a throttled service words it, and who is asked in which request.
_PASSAGES = (
    (re.compile(r"input_value=.*?(?=, input_type=|$)", re.DOTALL), "input_value=*"),
    (re.compile(r"Command '.*' (?=died|returned|timed)", re.DOTALL), "Command * "),
    (re.compile(r"(codec can't (?:de|en)code )\S.*", re.DOTALL), r"\1*"),
    (
        re.compile(
            r"(\(\w*(?:Throttl|TooManyRequests|LimitExceeded|ThroughputExceeded|SlowDown)"
            r"\w*\) when calling the \w+ operation).*",
            re.DOTALL,
        ),
        r"\1",
    ),
    (re.compile(r"^RequestId: \S+ Error: |^\d{4}-\d\d-\d\dT\S+ \S*\d\S* "), ""),
    (re.compile(r"\)=\([^)]*\)"), ")=(*)"),
    # A database driver's error: its number, and its words in quotes.
    (re.compile(r"^\((\d{3,5}), (b?['\"])(.*)\2\)$", re.DOTALL), r"code \1: \3"),
    (re.compile(r"\b(?:[0-9A-F]{3,}:){2,}[0-9A-F]+\b"), "*"),
)
# In this order: what changes from one occurrence of a fault to the next.
_MASKS = (
    (re.compile(r"(?i)(with url: ?|path: ?)\S+"), r"\1*"),
    (re.compile(r"arn:aws[\w-]*:[^\s,\"')]+"), "*"),
    (re.compile(r"<?[\w.+-]+@[\w-]+(?:\.[\w-]+)+>?"), "*"),
    # A secret that its service has blackened, and hex of objects.
    (re.compile(r"\S*\*{3,}\S*"), "*"),
    (re.compile(r"\bat 0x[0-9a-fA-F]+"), "at *"),
    # The numbers within a path of names are positions: lines.1.qty, lines[1].qty.
    (re.compile(r"(?<=[a-z_])\.\d+(?=\.|\b)"), ".*"),
    (re.compile(r"\[\d+\]"), "[*]"),
    # req_jPNkQMqngjiG: a prefix and mixed case, even without a digit.
    (
        re.compile(
            r"\b[A-Za-z]{2,8}[_-](?=[A-Za-z0-9]*[a-z])(?=[A-Za-z0-9]*[A-Z])"
            r"[A-Za-z0-9]{8,}\b"
        ),
        "*",
    ),
    # SO9001820, 9e1d99f8-d237-498f, 2024-65468, claude-3-5-haiku, 35.268s, 1,000
    (re.compile(r"[\w./+-]*\d(?:[\w./:,+%-]*[\w%])?"), "*"),
)
_REPEATED = re.compile(r"\*(?:[\s,;:./()#&-]*\*)+")
_BLANKS = re.compile(r"\s+")

# Where a broken JSON text ends is chance; whether it began at all is not.
_JSON_FAULT = re.compile(
    r"(?:Expecting|Unterminated|Invalid|Extra data|Illegal|Unexpected)[^:]*"
    r".*: line \d+ column \d+ \(char (\d+)\)"
)


def fingerprint(error: BaseException, message: str) -> str:
    """Return 16 hex digits, equal for failures of one type, message and place.

    The place is the innermost function of the agent's own, without its line: an
    edit above it does not make an old fault a new one.
    """
    frames = traceback.extract_tb(error.__traceback__)
    return of_words(
        qualified(type(error)),
        message,
        [(frame.filename, frame.name) for frame in frames],
        downstream=hosts.downstream(error, message),
    )


def of_words(
    exception_type: str,
    message: str,
    frames: Iterable[tuple[str, str]] = (),
    *,
    downstream: str | None = None,
) -> str:
    """Return the fingerprint of a failure that is known by its words alone.

    ``exception_type`` is ``module.Class``; ``frames`` are (file, function), the
    innermost last. ``downstream`` is read from the words where it is not given.
    """
    other = downstream or hosts.told(exception_type, message)
    where = f"@{other}" if other else place(frames)
    whole = "\n".join((_kind(exception_type), masked(message), where))
    return hashlib.sha256(whole.encode("utf-8", "backslashreplace")).hexdigest()[:16]


def qualified(kind: type[BaseException]) -> str:
    """Return ``module.Class``; built-in ones go without their module."""
    if kind.__module__ in {"builtins", "__main__"}:
        return kind.__name__
    return f"{kind.__module__}.{kind.__qualname__}"


def place(frames: Iterable[tuple[str, str]]) -> str:
    """Return the innermost function of the agents' own code, or of any."""
    listed = list(frames)
    ours = [(file, name) for file, name in listed if _is_agents(file)]
    if not (ours or listed):
        return ""
    file, name = (ours or listed)[-1]
    return f"{'/'.join(file.split('/')[-2:])}:{name}"


def frames_of(text: str) -> list[tuple[str, str]]:
    """Read (file, function) of each frame from a traceback as it is printed."""
    return re.findall(r'^\s*File "([^"]+)", line \d+, in (.+)$', text, re.MULTILINE)


def masked(message: str) -> str:
    """Return ``message`` without numbers, ids, quoted values and addresses."""
    text = re.sub("[\ue000-\uefff]", "*", message[:_LOOKED_AT])
    broken = _JSON_FAULT.fullmatch(text.strip())
    if broken:
        return "no JSON" if broken[1] == "0" else "JSON that breaks off"
    wholly = _WHOLLY_QUOTED.fullmatch(text)
    if wholly and wholly[1] not in wholly[2]:
        return wholly[2] if _FIELD.fullmatch(wholly[2]) else "*"
    for pattern, word in _PASSAGES:
        text = pattern.sub(word, text)
    return _tidied(_words(_told_payload(text)))


def _kind(exception_type: str) -> str:
    return exception_type.removeprefix("builtins.")


def _is_agents(file: str) -> bool:
    parts = file.split("/")
    return "agents" in parts[:-1] and "effects" not in parts[:-1]


def _words(text: str) -> str:
    kept: list[str] = []

    def keep(word: str) -> str:
        # A private character holds its place while everything else is masked.
        kept.append(word)
        return chr(0xE000 + len(kept) - 1) if len(kept) < 0x1000 else "*"

    text = hosts.URL.sub("<url>", text)
    text = _QUOTED.sub(lambda m: _unquoted(m, keep), text)
    text = hosts.HOST.sub("<host>", text)
    text = _KEPT_NUMBER.sub(
        lambda m: m[0].replace(m[1] or m[2], keep(m[1] or m[2])), text
    )
    for pattern, word in _MASKS:
        text = pattern.sub(word, text)
    return re.sub("[\ue000-\uefff]", lambda m: kept[ord(m[0]) - 0xE000], text)


def _unquoted(match: re.Match[str], keep: Any) -> str:
    inner = match[1] if match[1] is not None else match[2]
    before, after = match.string[: match.start()], match.string[match.end() :]
    if _STATUS_LINE.match(inner):
        return f"'{keep(inner)}'"
    names = _NAMES_CODE.search(before) or _IS_CODE.match(after)
    if names and _WORD.fullmatch(inner):
        return f"'{keep(inner)}'"
    if before.endswith("[") and after.startswith("]") and _WORD.fullmatch(inner):
        return f"'{keep(inner)}'"
    # Whole sentences in quotes are the other side's words; a value is a user's.
    if before.endswith(("(", "returned ", "says ")) and " " in inner:
        return f"'{_words(inner)}'"
    return "'*'"


def _tidied(text: str) -> str:
    return _BLANKS.sub(" ", _REPEATED.sub("*", text.replace("'*'", "*"))).strip()


def _told_payload(text: str) -> str:
    """Return ``text`` with what a service answered cut down to what it says."""
    start = text.find("{")
    if start < 0:
        return text
    end = text.rfind("}") + 1
    value = _read(text[start:end])
    if not isinstance(value, Mapping):
        return text
    return f"{text[:start]}{' '.join(_telling(value, 0))}{text[end:]}"


def _read(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        pass
    # Imported here: only messages that quote a dictionary need it.
    import ast

    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError, RecursionError, MemoryError, TypeError):
        return None


def _telling(value: Any, depth: int) -> list[str]:
    if depth > _DEEPEST:
        return []
    match value:
        case Mapping():
            return [
                word
                for name, inner in value.items()
                if not _is_passed_over(name)
                for word in _telling(inner, depth + 1)
            ]
        case list() | tuple():
            return [word for inner in value for word in _telling(inner, depth + 1)]
        case bytes():
            return [value.decode("utf-8", "replace")]
        case bool() | None:
            return []
        case int() if 100 <= value < 600:
            return [f"status {value}"]
        case str():
            return [value]
        case _:
            return []


def _is_passed_over(name: Any) -> bool:
    """A name that is no word is data itself (an address): what it maps to counts."""
    if not isinstance(name, str) or not re.fullmatch(r"[A-Za-z_][\w-]*", name):
        return False
    return name.lower().replace("-", "_") not in _TELLING
