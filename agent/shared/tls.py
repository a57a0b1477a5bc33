"""TLS settings of outgoing requests."""

from __future__ import annotations

import ssl
from functools import cache
from pathlib import Path

import httpx


@cache
def tls_context() -> ssl.SSLContext:
    """Return a shared context that trusts the machine's certificates. Blocking at the first call.

    An HTTP client without it reads and parses all certificates again, which takes 30 ms.
    """
    return httpx.create_ssl_context()


def private_tls_context(ca_file: Path | str | None) -> ssl.SSLContext:
    """Return a context that trusts a custom certificate authority. Raises OSError.

    From Python 3.13 on, contexts refuse certificates that don't follow RFC 5280 to the letter, which those of
    clusters and companies often don't.
    """
    context = ssl.create_default_context(cafile=ca_file)
    context.verify_flags &= ~ssl.VERIFY_X509_STRICT
    return context
