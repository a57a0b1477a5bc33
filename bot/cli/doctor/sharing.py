"""Check what the service shares with others: the identity provider, and the replicas on its database."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from sqlalchemy.exc import ArgumentError, DatabaseError

from agent.shared.install_hints import install_command, own_extra
from bot.app.home import check_replica
from bot.cli.common import run_loop
from bot.cli.doctor import Finding
from bot.cli.doctor.network import open_engine
from bot.clock import SystemClock
from bot.config import Config
from bot.errors import SignOnError, StartError
from bot.store.connection import SqlAlchemyConnection
from bot.store.replica_leases import list_leases


def sign_on(config: Config) -> Iterator[Finding]:
    """Check the identity provider of `server.oidc`, and that browsers can return from it."""
    oidc = config.server.oidc
    if oidc is None:
        return
    if not config.server.public_url:
        yield Finding(
            False,
            "sign-on: server.public_url is not set, so browsers on other machines can't return from the "
            "identity provider; set it to the address of the web console",
        )
    try:
        from bot.server.api.identity_provider import IdentityProvider

        run_loop(IdentityProvider(oidc, SystemClock()).start("", ""))
    except ModuleNotFoundError as error:
        command = install_command(own_extra("oidc"))
        yield Finding(False, f"sign-on needs the package {error.name}; install it: {command}")
    except SignOnError as error:
        yield Finding(False, f"sign-on: {error}")
    else:
        yield Finding(True, f"sign-on: {oidc.issuer} responds")


def replicas(config: Config, home: Path, name: str) -> Iterator[Finding]:
    """Check the name of this replica ("": none), and list the replicas that share the database."""
    if name:
        try:
            check_replica(name, has_database=config.database.url is not None)
        except StartError as error:
            yield Finding(False, f"replica: {error}")
            return
    names: list[str] = []
    if config.database.url is not None:
        with suppress(ModuleNotFoundError, ArgumentError, DatabaseError):  # which the check of it reports
            engine = open_engine(config.database.url.get_secret_value(), home)
            with engine.connect() as connection:
                names = sorted(list_leases(SqlAlchemyConnection(connection)).replicas)
    if names:
        yield Finding(True, f"replicas that are running: {', '.join(names)}")
    if (names or name) and not config.server.public_url:
        yield Finding(
            None,
            "replicas: server.public_url is not set, so sign-in links lead to a single replica; "
            "set it to the address of the load balancer",
        )
