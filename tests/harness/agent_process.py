"""Fixtures that let a process of tests do once what each test of the agent would do again."""

from __future__ import annotations

import os
import ssl
from collections.abc import Iterator
from functools import cache
from typing import Any

import httpcore2
import pytest

from agent.core.telemetry import trace_hooks_on_demand

_create_context = ssl.create_default_context
_create_system_context = cache(httpcore2.default_ssl_context)


@pytest.fixture(autouse=True)
def spans_on_demand() -> None:
    """Hooks of middleware have no spans, as in the service while tracing is off."""
    trace_hooks_on_demand()


@pytest.fixture(scope="session", autouse=True)
def shared_certificates() -> Iterator[None]:
    """Clients share the machine's certificates: each HTTP client would parse them again, in 50 ms."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ssl, "create_default_context", _share_context)
        patch.setattr(httpcore2, "default_ssl_context", _create_system_context)
        yield


def _share_context(purpose: ssl.Purpose = ssl.Purpose.SERVER_AUTH, **options: Any) -> ssl.SSLContext:
    if purpose is not ssl.Purpose.SERVER_AUTH or options.keys() - {"cafile"}:
        return _create_context(purpose, **options)
    return _read_certificates(options.get("cafile"), os.environ.get("SSL_CERT_FILE"))


@cache
def _read_certificates(file: str | None, _default: str | None) -> ssl.SSLContext:
    return _create_context(cafile=file)
