"""`webhooks` of a `langgraph.json`: hosts that runs may call, and headers of the calls."""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import re
from collections.abc import Mapping, Sequence
from ipaddress import ip_address
from typing import Annotated, Final, Literal

import httpx
from pydantic import BaseModel, ConfigDict, Field, StringConstraints

from agent.errors import GraphLoadError, Invalid
from agent.shared.public_address import is_public, resolve_host, resolve_permitted

SECRET_VARIABLE: Final = "ROEBOT_WEBHOOK_SECRET"  # noqa: S105 - a name, not a secret
SECRET_PREFIX: Final = "whsec_"  # noqa: S105 - of a Standard Webhooks secret
NOTHING_ALLOWED: Final = (
    "webhook: no host is allowed. Add it to `webhooks.url.allowed_domains` in langgraph.json, and restart "
    "the server"
)
_TEMPLATE: Final = re.compile(r"\$\{\{\s*(.*?)\s*\}\}")
_PORTS: Final = {"https": 443, "http": 80}
Domain = Annotated[str, StringConstraints(pattern=r"^(\*\.)?[^*\s/]+$", to_lower=True)]
HeaderName = Annotated[str, StringConstraints(pattern=r"^[!#$%&'*+.^_`|~0-9A-Za-z-]+$", to_lower=True)]


class WebhookUrls(BaseModel):
    """URLs that runs may call."""

    model_config = ConfigDict(extra="forbid", frozen=True)
    allowed_domains: tuple[Domain, ...] = ()
    """Host names; `*.example.com` matches the subdomains of example.com."""
    allowed_ports: tuple[int, ...] | None = None
    require_https: bool = True
    max_url_length: int = Field(default=4096, ge=1)
    disable_loopback: bool = True
    """False: allowed hosts may be on this machine. Addresses without a host are always refused."""
    disable_private_ips: Literal[True] = True


class WebhookSettings(BaseModel):
    """URLs that may be called, and the headers of the calls."""

    model_config = ConfigDict(extra="forbid", frozen=True)
    url: WebhookUrls = WebhookUrls()
    env_prefix: str = "LG_WEBHOOK_"
    headers: dict[HeaderName, str] = {}

    def resolve_headers(self, environment: Mapping[str, str]) -> WebhookSettings:
        """Replace `${{ env.NAME }}` in the values of headers. Raises `GraphLoadError`."""
        headers = {}
        for name, text in self.headers.items():
            value = _TEMPLATE.sub(lambda found: self._read(found[1], environment), text)
            if not value.isascii() or not value.isprintable():
                raise GraphLoadError(
                    f"webhooks.headers.{name}: contains characters that headers can't contain"
                )
            headers[name] = value
        return self.model_copy(update={"headers": headers})

    def _read(self, reference: str, environment: Mapping[str, str]) -> str:
        name = reference.removeprefix("env.")
        if name == reference or not name.startswith(self.env_prefix):
            raise GraphLoadError(f"webhooks.headers: {reference!r} must start with env.{self.env_prefix}")
        if name not in environment:
            raise GraphLoadError(
                f"webhooks.headers: the environment variable {name} is not set. Set it or remove the header"
            )
        return environment[name]

    def check_url(self, text: str) -> str:
        """Return the host of a URL that may be called. Raises `Invalid`."""
        if not self.url.allowed_domains:
            raise Invalid(NOTHING_ALLOWED)
        if len(text) > self.url.max_url_length:
            raise Invalid(f"webhook: is longer than {self.url.max_url_length} characters")
        try:
            url = httpx.URL(text)
        except (httpx.InvalidURL, ValueError) as error:
            raise Invalid(f"webhook: {error}") from error
        if url.scheme not in _PORTS or not url.host or url.userinfo:
            raise Invalid("webhook: must be an absolute https URL without a user name")
        if self.url.require_https and url.scheme != "https":
            raise Invalid("webhook: must use https, unless webhooks.url.require_https is false")
        port = url.port or _PORTS[url.scheme]
        if self.url.allowed_ports is not None and port not in self.url.allowed_ports:
            raise Invalid(f"webhook: port {port} is not in webhooks.url.allowed_ports")
        if not any(_matches(url.host, domain) for domain in self.url.allowed_domains):
            raise Invalid(f"webhook: {url.host} is not in webhooks.url.allowed_domains")
        return url.host

    async def find_addresses(self, url: httpx.URL) -> Sequence[str]:
        """Return the addresses of an allowed host. Raises `HostNotFound` or `HostRefused`."""
        host, port = url.raw_host.decode("ascii"), url.port or _PORTS[url.scheme]
        return await resolve_permitted(host, port, resolve=resolve_host, permitted=self._is_permitted)

    def _is_permitted(self, address: str) -> bool:
        return is_public(address) or (not self.url.disable_loopback and ip_address(address).is_loopback)


def _matches(host: str, domain: str) -> bool:
    return host.endswith(domain[1:]) if domain.startswith("*.") else host == domain


def read_secret(environment: Mapping[str, str]) -> bytes | None:
    """Return the key that signs webhooks, or None if none is set. Raises `GraphLoadError`."""
    text = environment.get(SECRET_VARIABLE, "").removeprefix(SECRET_PREFIX)
    try:
        return base64.b64decode(text, validate=True) or None
    except binascii.Error as error:
        raise GraphLoadError(f"{SECRET_VARIABLE}: must be {SECRET_PREFIX} followed by Base64") from error


def sign(secret: bytes, message_id: str, timestamp: int, body: bytes) -> str:
    """Return the value of `webhook-signature` (https://www.standardwebhooks.com)."""
    signed = f"{message_id}.{timestamp}.".encode() + body
    return "v1," + base64.b64encode(hmac.digest(secret, signed, hashlib.sha256)).decode()
