"""Entry points of the service, and findings about their credentials and transport."""

from __future__ import annotations

import string
from collections.abc import Iterator
from urllib.parse import parse_qs, urlsplit

from agent.shared.client_address import is_loopback, parse_network
from agent.shared.tokens import LEAST_CHARACTERS, find_weakness
from bot.app.service_token import token_source
from bot.cli.security import Entrance, Installation, SecurityFinding, Severity, is_plain_http
from bot.config import AccountConfig, Config
from bot.config.models import ServerConfig
from bot.config.sign_on import OidcConfig
from bot.domain import LOCAL_PLATFORMS

SHORT_SECRET = 16
"""Webhook secrets with fewer characters can be guessed."""
VERIFIED_TLS = frozenset({"verify-ca", "verify-full", "require"})
INSIDE, OUTSIDE = "programs on this machine", "everyone who can reach this machine"
WIDE = 256
"""Largest network (addresses) that is still a group of proxies."""


def is_weak(secret: str) -> bool:
    """Return whether a service secret is short, or appears to be copied from an example."""
    # Platforms issue secrets of 16 characters and more, so the length for tokens does not apply.
    padded = f"{secret}{string.ascii_letters}" if len(secret) < LEAST_CHARACTERS else secret
    return len(secret) < SHORT_SECRET or find_weakness(padded) is not None


def list_entrances(found: Installation) -> Iterator[Entrance]:
    """List all entry points: the port, the webhooks, and the connections that the service opens."""
    config = found.config
    server = config.server
    address = f"{server.host}:{server.port}"
    where = INSIDE if server.is_loopback else OUTSIDE
    if server.allowed_hosts or server.is_public:
        names = ", ".join(filter(None, (server.public_url, *server.allowed_hosts)))
        where = f"{where}; through a proxy, everyone who can reach {names}"
    proof = "service token, or a single-use sign-in link"
    proof += f", or an account at {server.oidc.issuer}" if server.oidc else ""
    yield Entrance("web console and API", address, where, proof)
    yield Entrance("/health", address, where, "none; shows only whether the service is up")
    for account in config.accounts:
        yield from _platform_entrances(account, address, where)
    for name, source in config.events.sources.items():
        proof = f"{source.scheme} with a secret" if source.secrets else "none"
        yield Entrance(f"event source {name} ({source.type})", f"{address}/events/{name}", where, proof)
    if config.runtime.url:
        key = "API key (runtime.api_key)" if config.runtime.api_key else "none"
        yield Entrance("agent runtime", config.runtime.url, "as configured there", key)
    else:
        yield Entrance("agent runtime", "a free loopback port", INSIDE, "token that changes at each start")
    if not config.database.url:
        yield Entrance("databases", str(found.home), "the service's user and root", "file permissions")


def _platform_entrances(account: AccountConfig, address: str, where: str) -> Iterator[Entrance]:
    if account.platform in LOCAL_PLATFORMS:
        return
    name = f"account {account.name} ({account.platform})"
    if not account.is_called or account.webhook is None:
        yield Entrance(
            name,
            "a connection opened by the service",
            f"people on {account.platform}",
            "the platform's identity",
        )
        return
    yield Entrance(
        f"webhook of {name}", f"{address}/webhooks/{account.name}", where, account.webhook.credential
    )


def check_entrances(found: Installation) -> Iterator[SecurityFinding]:
    """Check the credentials, addresses and transport of all entry points."""
    config = found.config
    yield from _check_server(found)
    yield from _check_runtime(config)
    yield from _check_database(config)
    yield from _check_event_sources(config)
    for account in config.accounts:
        yield from _check_webhook(account)
        yield from _check_base_url(account)


def _check_server(found: Installation) -> Iterator[SecurityFinding]:
    server = found.config.server
    reached = not server.is_loopback or bool(server.allowed_hosts) or server.is_public
    if weakness := find_weakness(found.token) if found.token else None:
        name = token_source(server)
        yield SecurityFinding(
            "token-weak",
            Severity.CRITICAL if reached else Severity.WARNING,
            f"{name} is weak: {weakness}",
            "Whoever guesses it owns the bot and can run programs as the service's user.",
            f"Remove {name} to have a token generated, or use the output of `openssl rand -hex 32`.",
        )
    if not server.is_loopback:
        yield SecurityFinding(
            "server-address",
            Severity.NOTE if found.in_container else Severity.WARNING,
            f"the service listens on {server.host}, without TLS",
            "Tokens, session cookies and messages can be read by others on the network.",
            "Listen on 127.0.0.1, behind a reverse proxy with TLS (deploy/proxy)."
            if not found.in_container
            else "Publish the port on 127.0.0.1 only, behind a reverse proxy with TLS (deploy/proxy).",
        )
    if server.public_url and is_plain_http(server.public_url):
        yield SecurityFinding(
            "public-url-http",
            Severity.CRITICAL,
            f"server.public_url is {server.public_url}, without TLS",
            "Sign-in links and session cookies can be read in transit and used by others.",
            "Serve the web console over https (deploy/proxy), and change server.public_url.",
        )
    yield from _check_proxies(server)
    if server.oidc is not None:
        yield from _check_sign_on(server.oidc)


def _check_sign_on(oidc: OidcConfig) -> Iterator[SecurityFinding]:
    for role, severity in (("owner", Severity.WARNING), ("admin", Severity.NOTE)):
        groups = [group for group, given in oidc.roles.items() if given == role]
        if groups:
            yield SecurityFinding(
                f"sign-on-{role}s",
                severity,
                f"server.oidc.roles makes everyone in {', '.join(groups)} an {role} on all accounts",
                f"Whoever manages these groups at the identity provider decides who the {role}s are.",
                f"Use groups for {role}s that few people manage, or grant the role to single people.",
            )


def _check_proxies(server: ServerConfig) -> Iterator[SecurityFinding]:
    wide = [one for one in server.trusted_proxies if parse_network(one).num_addresses > WIDE]
    if wide:
        everybody = any(parse_network(one).prefixlen == 0 for one in wide)
        yield SecurityFinding(
            "proxies-wide",
            Severity.CRITICAL if everybody else Severity.WARNING,
            f"server.trusted_proxies contains {', '.join(wide)}",
            "Every machine in these networks can name any address as its own, and so evade the limits on "
            "failed sign-ins.",
            "List the addresses of the reverse proxies.",
        )
    if server.is_loopback and (server.allowed_hosts or server.is_public) and not server.trusted_proxies:
        yield SecurityFinding(
            "proxies-none",
            Severity.WARNING,
            "people reach the service through a proxy, but server.trusted_proxies is empty",
            "All of them count as one address, so one client that guesses credentials locks everyone out.",
            "Set server.trusted_proxies to the address of the proxy, such as 127.0.0.1.",
        )


def _check_runtime(config: Config) -> Iterator[SecurityFinding]:
    for key, url in (("url", config.runtime.url), ("management_url", config.runtime.management_url)):
        if url and is_plain_http(url):
            yield SecurityFinding(
                f"runtime-{key.replace('_', '-')}-http",
                Severity.CRITICAL,
                f"runtime.{key} is {url}, without TLS",
                "Messages, files and the API key can be read and changed in transit.",
                f"Serve the agent runtime over https, and change runtime.{key}.",
            )
    if config.runtime.url and not config.runtime.api_key:
        yield SecurityFinding(
            "runtime-no-key",
            Severity.WARNING,
            f"the agent runtime at {config.runtime.url} is called without an API key",
            "If the server does not require one, everyone who can reach it can run the agent and read its "
            "threads.",
            "Require a key on that server, and set runtime.api_key.",
        )


def _check_database(config: Config) -> Iterator[SecurityFinding]:
    parts = urlsplit(config.database.url.get_secret_value() if config.database.url else "")
    if not parts.hostname or is_loopback(parts.hostname):
        return
    if not VERIFIED_TLS & set(parse_qs(parts.query).get("sslmode", ())):
        yield SecurityFinding(
            "database-no-tls",
            Severity.WARNING,
            f"the connection to the database at {parts.hostname} does not require TLS",
            "Messages and the password can be read in transit.",
            "Add ?sslmode=verify-full to database.url.",
        )


def _check_event_sources(config: Config) -> Iterator[SecurityFinding]:
    for name, source in config.events.sources.items():
        if any(is_weak(one.get_secret_value()) for one in source.secrets):
            yield SecurityFinding(
                "event-secret-weak",
                Severity.CRITICAL,
                f"events.sources.{name} has a secret of less than {SHORT_SECRET} characters, or an example",
                "Whoever guesses it can open and resolve incidents, and show the agent made-up alerts.",
                "Generate one with `openssl rand -hex 24`, and set it in the sender's settings too.",
            )
        if source.api_url and source.api_token and is_plain_http(source.api_url):
            yield SecurityFinding(
                "event-api-http",
                Severity.WARNING,
                f"events.sources.{name}.api_url is {source.api_url}, without TLS",
                "The token of the API can be read in transit.",
                "Use an https URL.",
            )


def _check_webhook(account: AccountConfig) -> Iterator[SecurityFinding]:
    webhook = account.webhook
    if not account.is_called or webhook is None:
        return
    secret = getattr(account, webhook.secret) if webhook.secret else None
    if secret and is_weak(secret.get_secret_value()):
        yield SecurityFinding(
            "webhook-secret-weak",
            Severity.CRITICAL,
            f"channels.{account.name}.{webhook.secret} is shorter than {SHORT_SECRET} characters or "
            "an example",
            "Whoever guesses it can write messages in the name of everyone, including owners.",
            f"Generate one with `openssl rand -hex 24`, and set it on {account.platform} too.",
        )
    for key, advice in webhook.advice.items():
        if not getattr(account, key):
            yield SecurityFinding(
                "webhook-unverified",
                Severity.NOTE,
                f"channels.{account.name}.{key} is not set",
                "Anyone who has seen the verification of a callback address can repeat it.",
                advice,
            )
    url = getattr(account, webhook.url) if webhook.url else None
    if url and is_plain_http(url):
        yield SecurityFinding(
            "webhook-http",
            Severity.CRITICAL,
            f"channels.{account.name}.{webhook.url} is {url}, without TLS",
            "Messages and the webhook's secret can be read in transit.",
            "Serve the webhook over https (deploy/proxy).",
        )


def _check_base_url(account: AccountConfig) -> Iterator[SecurityFinding]:
    if account.base_url and is_plain_http(account.base_url):
        yield SecurityFinding(
            "platform-http",
            Severity.CRITICAL,
            f"channels.{account.name}.base_url is {account.base_url}, without TLS",
            "The bot's token can be read in transit, and used to read and write its chats.",
            "Use an https address, or remove base_url.",
        )
