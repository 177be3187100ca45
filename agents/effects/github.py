"""Effects on GitHub: a comment, a review, a check run.

GitHub honours no idempotency key. Each effect therefore carries its operation
id where GitHub keeps it (an invisible marker in the text, or ``external_id``),
and an effect in doubt is looked for before it is sent again. The marker is
seen by whoever reads the source of a comment.

Rules of the service, from docs.github.com: "REST API endpoints for issue
comments", "... for pull request reviews", "... for check runs", "Rate limits
for the REST API", "Best practices for using the REST API" (redirects, paging).
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any, Literal
from urllib.parse import quote, urlencode

from agents.effects import outgoing
from agents.effects.outgoing import Answer, Call
from lambdas.shared.effects import repeatable
from lambdas.shared.errors import GiveUp, OutcomeUnknown
from lambdas.shared.waiting import until

API = "https://api.github.com"
SECRET = "bellhop/github-token"  # noqa: S105 - the secret's name

# GitHub's own largest page; ten of them are more than an issue gets in a day.
_PAGE = 100
_MOST_PAGES = 10
# Our clock and GitHub's may differ.
_SKEW = timedelta(minutes=5)

Result = dict[str, Any]


def _find_comment(
    comments_url: str,
    body: str,
    *,
    operation_id: str,
    since: datetime,
    secret: str = SECRET,
    api: str = API,
) -> Result | None:
    pages = _pages(comments_url, {"since": _time(since)}, secret=secret, api=api)
    return _marked(pages, operation_id)


@repeatable(look=_find_comment)
def comment(
    comments_url: str,
    body: str,
    *,
    operation_id: str,
    secret: str = SECRET,
    api: str = API,
) -> Result:
    """Comment on an issue or a pull request; return its ``id`` and ``url``.

    ``comments_url`` is the one in the event (``issue["comments_url"]``). Sent
    again after a lost answer, the comments written since are looked through
    first. ``api`` names a GitHub Enterprise Server; the token goes nowhere else.
    """
    document = {"body": _with_marker(body, operation_id)}
    return _create(comments_url, document, secret=secret, api=api)


def _find_review(
    pull_url: str,
    body: str,
    *,
    operation_id: str,
    since: datetime,
    secret: str = SECRET,
    api: str = API,
    **_: Any,
) -> Result | None:
    pages = _pages(f"{pull_url}/reviews", {}, secret=secret, api=api)
    return _marked(pages, operation_id)


@repeatable(look=_find_review)
def review(
    pull_url: str,
    body: str,
    *,
    event: Literal["COMMENT", "APPROVE", "REQUEST_CHANGES"] = "COMMENT",
    comments: Sequence[Mapping[str, Any]] = (),
    commit_id: str | None = None,
    operation_id: str,
    secret: str = SECRET,
    api: str = API,
) -> Result:
    """Review a pull request; return the review's ``id`` and ``url``.

    ``pull_url`` is the one in the event (``pull_request["url"]``); ``comments``
    are GitHub's own (``path``, ``line``, ``body``). Sent again after a lost
    answer, the pull request's reviews are looked through first.
    """
    document: dict[str, Any] = {
        "body": _with_marker(body, operation_id),
        "event": event,
    }
    if comments:
        document["comments"] = [dict(each) for each in comments]
    if commit_id:
        document["commit_id"] = commit_id
    url = f"{pull_url}/reviews"
    return _create(url, document, secret=secret, api=api)


def _find_check_run(
    repository_url: str,
    name: str,
    head_sha: str,
    *,
    operation_id: str,
    since: datetime,
    secret: str = SECRET,
    api: str = API,
    **_: Any,
) -> Result | None:
    url = f"{repository_url}/commits/{quote(head_sha, safe='')}/check-runs"
    query = {"check_name": name, "filter": "all"}
    for page in _pages(url, query, secret=secret, api=api):
        for run in page["check_runs"]:
            if run.get("external_id") == operation_id:
                return _kept(run)
    return None


@repeatable(look=_find_check_run)
def check_run(
    repository_url: str,
    name: str,
    head_sha: str,
    *,
    title: str,
    summary: str,
    conclusion: str | None = None,
    operation_id: str,
    secret: str = SECRET,
    api: str = API,
) -> Result:
    """Attach a check run to a commit; return its ``id`` and ``url``.

    Without a ``conclusion`` it stays in progress. The token must be a GitHub
    App's. Sent again after a lost answer, the commit's check runs are looked
    through first for the operation id in ``external_id``.
    """
    document: dict[str, Any] = {
        "name": name,
        "head_sha": head_sha,
        "external_id": operation_id,
        "status": "completed" if conclusion else "in_progress",
        "output": {"title": title, "summary": summary},
    }
    if conclusion:
        document["conclusion"] = conclusion
    url = f"{repository_url}/check-runs"
    return _create(url, document, secret=secret, api=api)


def marker(operation_id: str) -> str:
    """Return the invisible line that ends every text we write."""
    return f"<!-- bellhop:{operation_id} -->"


def _with_marker(body: str, operation_id: str) -> str:
    return f"{body}\n\n{marker(operation_id)}"


def _create(url: str, document: Result, *, secret: str, api: str) -> Result:
    call = _call("POST", url, secret=secret, api=api)
    return _kept(_send(replace(call, body=json.dumps(document).encode())).value())


def _kept(made: Mapping[str, Any]) -> Result:
    return {"id": made.get("id"), "url": made.get("html_url")}


def _marked(pages: Iterator[Any], operation_id: str) -> Result | None:
    for page in pages:
        for each in page:
            if marker(operation_id) in (each.get("body") or ""):
                return _kept(each)
    return None


def _pages(
    url: str, query: Mapping[str, str], *, secret: str, api: str
) -> Iterator[Any]:
    url = f"{url}?{urlencode({'per_page': _PAGE, **query})}"
    for _ in range(_MOST_PAGES):
        answer = _send(_call("GET", url, secret=secret, api=api, acts=False))
        yield answer.value()
        following = _next(answer.headers.get("link", ""))
        if following is None:
            return
        url = following
    raise OutcomeUnknown(
        f"github lists more than {_MOST_PAGES * _PAGE} entries to look through",
        downstream="github",
    )


def _next(link: str) -> str | None:
    found = re.search(r'<([^<>]+)>\s*;\s*rel="next"', link)
    return found[1] if found else None


def _call(method: str, url: str, *, secret: str, api: str, acts: bool = True) -> Call:
    # The URL comes out of a payload: the token must not follow it elsewhere.
    if not url.startswith(f"{api}/"):
        raise GiveUp(f"github: want a URL under {api}", downstream="github")
    value = outgoing.token(secret)
    return Call(
        downstream="github",
        method=method,
        url=url,
        token=value,
        acts=acts,
        headers={
            "authorization": f"Bearer {value}",
            "accept": "application/vnd.github+json",
            "content-type": "application/json",
            "x-github-api-version": "2022-11-28",
        },
    )


def _send(call: Call) -> Answer:
    answer = outgoing.send(call)
    if answer.status in {403, 429} and _is_rate_limited(answer):
        raise call.later(f"answered {answer.status}: {answer.message}", _wait(answer))
    return answer.checked()


def _is_rate_limited(answer: Answer) -> bool:
    return (
        answer.after is not None
        or answer.headers.get("x-ratelimit-remaining") == "0"
        or "rate limit" in answer.message.lower()
    )


def _wait(answer: Answer) -> timedelta:
    """Return what the docs ask for: Retry-After, else the reset, else a minute."""
    if answer.after is not None:
        return answer.after
    reset = answer.headers.get("x-ratelimit-reset", "")
    if answer.headers.get("x-ratelimit-remaining") == "0" and reset.isdecimal():
        return until(datetime.fromtimestamp(int(reset[:11]), UTC))
    return timedelta(minutes=1)


def _time(instant: datetime) -> str:
    return (instant - _SKEW).astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
