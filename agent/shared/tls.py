"""TLS settings of outgoing requests."""

from __future__ import annotations

import ssl
from functools import cache

import httpx


@cache
def tls_context() -> ssl.SSLContext:
    """Return a shared context that trusts the machine's certificates. Blocking at the first call.

    An HTTP client without it reads and parses all certificates again, which takes 30 ms.
    """
    return httpx.create_ssl_context()
