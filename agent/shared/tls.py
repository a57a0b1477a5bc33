"""The TLS settings of outgoing requests."""

from __future__ import annotations

import ssl
from functools import cache

import httpx


@cache
def tls_context() -> ssl.SSLContext:
    """Return the context that trusts the machine's certificates. Blocking at the first call.

    An HTTP client that is given none reads and parses all certificates again, some 30 ms.
    """
    return httpx.create_ssl_context()
