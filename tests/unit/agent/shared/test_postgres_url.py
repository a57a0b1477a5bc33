"""Addresses of PostgreSQL databases."""

from __future__ import annotations

import pytest
from sqlalchemy import make_url

from agent.shared.postgres_url import connect_arguments, libpq_url, sqlalchemy_url


@pytest.mark.parametrize("scheme", ["postgres", "postgresql", "postgresql+psycopg"])
def test_every_spelling_leads_to_psycopg_and_to_libpq(scheme: str) -> None:
    url = f"{scheme}://user:p%40ss@host:5433/name?sslmode=require"
    assert make_url(sqlalchemy_url(url)).drivername == "postgresql+psycopg"
    assert libpq_url(url) == "postgresql://user:p%40ss@host:5433/name?sslmode=require"


def test_parameters_of_the_address_take_precedence() -> None:
    found = connect_arguments("postgresql://host/name?connect_timeout=3&tcp_user_timeout=1")
    assert found["prepare_threshold"] is None
    assert found["keepalives_idle"] == 10
    assert not found.keys() & {"connect_timeout", "tcp_user_timeout"}
