"""Takes out of an error's words what looks like a secret or names a person.

Careless code quotes what it was given. Its words are kept with the run and told in
the digest and on the command line, so tokens and addresses are blackened before
they are written down. What looks like any other word cannot be told from it.
"""

from __future__ import annotations

import re

BLACK = "***"

_SECRETS = (
    # A user and a password in front of a host.
    re.compile(r"(?<=://)[^\s/@]+:[^\s/@]+(?=@)"),
    re.compile(r"[\w.+-]+@[\w-]+(?:\.[\w-]+)+"),
    re.compile(r"(?i)(?<=\bbearer )\S+|(?<=\bbasic )[A-Za-z0-9+/=_-]{8,}"),
    re.compile(r"\beyJ[\w-]+(?:\.[\w-]*){0,2}"),
    # What the services themselves put in front of their secrets.
    re.compile(
        r"\b(?:gh[opsur]_|github_pat_|glpat-|xox[a-z]-|xapp-|sk[_-]|rk_|pk_|whsec_|"
        r"npm_|pypi-|AIza|A[KS]IA|SG\.|ya29\.|hf_|dop_v1_|shp[a-z]{2}_)[\w.-]{8,}"
    ),
    re.compile(
        r"(?i)(?<=password=)[^\s&,;]+|(?<=secret=)[^\s&,;]+|(?<=token=)[^\s&,;]+"
    ),
    # Letters and digits without a break: nobody's word. (A UUID has breaks.)
    re.compile(r"(?=[A-Za-z]*\d)(?=\d*[A-Za-z])[A-Za-z0-9]{20,}"),
)


def blackened(text: str) -> str:
    """Return ``text`` with ``***`` in place of what looks like a secret."""
    for pattern in _SECRETS:
        text = pattern.sub(BLACK, text)
    return text
