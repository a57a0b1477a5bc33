"""TLS settings of outgoing requests."""

from __future__ import annotations

import ssl

import certifi
import pytest

from agent.shared.tls import private_tls_context


def test_a_private_authority_need_not_follow_the_rfc_to_the_letter() -> None:
    context = private_tls_context(certifi.where())
    assert not context.verify_flags & ssl.VERIFY_X509_STRICT
    assert (context.verify_mode, context.check_hostname) == (ssl.CERT_REQUIRED, True)
    with pytest.raises(OSError):
        private_tls_context("/nowhere/ca.crt")
