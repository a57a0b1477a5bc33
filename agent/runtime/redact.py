"""Error texts for clients: one class name, one message, no secret."""

from __future__ import annotations

import re
from typing import Final

LONGEST: Final = 2000
_SECRETS: Final = re.compile(
    r"(?:\b(?:sk|pk|rk|xox[abprs]|gh[opsu]|glpat|AIza)[-_A-Za-z0-9]{12,}"
    r"|(?<=://)[^/\s:@]+:[^/\s@]+(?=@)"
    r"|(?i:\bbearer\s+)[-._~+/A-Za-z0-9]{8,}=*"
    r"|(?i:\b(?:api[-_]?key|token|secret|password)\b[\"']?\s*[=:]\s*)[\"']?[^\s\"',}]{6,})"
)


def scrub(text: str) -> str:
    """`text` without what looks like a key, token or password."""
    return _SECRETS.sub("[redacted]", text)


def redact(text: str) -> str:
    """`text` scrubbed, at most 2,000 characters."""
    clean = scrub(text)
    return clean if len(clean) <= LONGEST else clean[:LONGEST] + "…"


def error_of(error: BaseException) -> dict[str, str]:
    """What a client is told about a graph's exception."""
    return {"error": type(error).__name__, "message": redact(str(error)) or type(error).__name__}
