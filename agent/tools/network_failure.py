"""Notes about the sandbox's network, added to command results."""

from __future__ import annotations

import re

_FAILURES = re.compile(
    r"could not resolve (?:host|proxy)|temporary failure in name resolution|name or service not known"
    r"|no address associated with hostname|network is unreachable|unable to resolve host|nameresolutionerror"
    r"|enetunreach|eai_again|getaddrinfo|failed to establish a new connection",
    re.IGNORECASE,
)
_TAIL = 8_000
"""Characters at the end of the output that are searched."""
NO_NETWORK = "[The sandbox has no network, so no other address works either. Don't retry.]"
ONLY = "[The network of the sandbox reaches only {hosts}.]"


def describe_network_failure(output: str, exit_code: int | None, network: str | None) -> str:
    """Return a line for a command that failed to resolve a host, or "" for any other.

    `network` is what the sandbox reaches ("": nothing; None: unknown).
    """
    if not exit_code or network is None or not _FAILURES.search(output[-_TAIL:]):
        return ""
    return ONLY.format(hosts=network) if network else NO_NETWORK
