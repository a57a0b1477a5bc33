"""The socket of the service."""

from __future__ import annotations

import socket

import pytest

from bot.app.http_server import bind_socket
from bot.errors import StartError


def test_two_services_that_start_together_do_not_share_a_port() -> None:
    """Linux binds both to a port that nobody listens on yet."""
    with bind_socket("127.0.0.1", 0) as first, pytest.raises(StartError, match="cannot listen"):
        bind_socket("127.0.0.1", first.getsockname()[1])


def test_the_socket_sends_small_responses_at_once() -> None:
    with bind_socket("127.0.0.1", 0) as bound:
        assert bound.proto == socket.IPPROTO_TCP
