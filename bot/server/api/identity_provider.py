"""The OpenID Connect provider of `server.oidc`: authorization code flow with PKCE, as OpenID Connect Core 1.0
defines it.

A pending sign-in is a random secret in a cookie of the browser that began it; state, nonce and code verifier
are hashes of it. So any process can complete a sign-in, and an answer to another browser is worthless.
"""

from __future__ import annotations

import hashlib
import hmac
import re
from collections.abc import Mapping
from contextlib import suppress
from typing import Any
from urllib.parse import quote_plus, urlencode, urlsplit

import httpx
import structlog
from authlib.oauth2.rfc7636 import create_s256_code_challenge
from authlib.oidc.core import CodeIDToken
from joserfc import jwk, jwt
from joserfc.errors import ClaimError, InvalidKeyIdError, JoseError

from agent.shared.tls import tls_context
from bot.clock import Clock
from bot.config.sign_on import GROUP, OidcConfig
from bot.domain import SIGN_ON, Sender
from bot.errors import SignOnError

log = structlog.get_logger(__name__)
ALGORITHMS = ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512")
LEEWAY = 60
"""Accepted difference of the clocks (s)."""
REFRESH_EVERY, TIMEOUT = 3600.0, 10.0
"""Age (s) from which metadata and keys are read again; maximum duration (s) of a request."""
ENDPOINTS = ("authorization_endpoint", "token_endpoint", "jwks_uri")
_PLAIN_ID = re.compile(r"(?!sub-)[A-Za-z0-9][A-Za-z0-9_.-]{0,127}")
AGAIN = "Sign in again. If that fails too, an admin finds the cause in the log of the service."


def derive(secret: str, purpose: str) -> str:
    """Return the state, nonce or code verifier of a pending sign-in."""
    return hashlib.sha256(f"roebot {purpose}\0{secret}".encode()).hexdigest()


class IdentityProvider:
    """Client of the provider. All methods raise SignOnError."""

    def __init__(self, config: OidcConfig, clock: Clock) -> None:
        self._config, self._clock = config, clock
        self._metadata: Mapping[str, Any] = {}
        self._keys = jwk.KeySet([])
        self._read_at = 0.0

    async def start(self, secret: str, redirect_uri: str) -> str:
        """Return the address of the provider to which the browser goes for a sign-in."""
        await self._load(refresh=False)
        query = {
            "response_type": "code",
            "client_id": self._config.client_id,
            "redirect_uri": redirect_uri,
            "scope": "openid profile",
            "state": derive(secret, "state"),
            "nonce": derive(secret, "nonce"),
            "code_challenge": create_s256_code_challenge(derive(secret, "verifier")),
            "code_challenge_method": "S256",
        }
        endpoint = str(self._metadata["authorization_endpoint"])
        return f"{endpoint}{'&' if urlsplit(endpoint).query else '?'}{urlencode(query)}"

    async def finish(self, answer: Mapping[str, str], secret: str, redirect_uri: str) -> Sender:
        """Return the person whom the provider's answer to the browser signs in."""
        if not secret or not hmac.compare_digest(
            answer.get("state", "").encode(), derive(secret, "state").encode()
        ):
            raise SignOnError(
                f"This sign-in has expired or was begun in another browser or at another address. {AGAIN}"
            )
        await self._load(refresh=False)
        # RFC 9207: an answer of another issuer must not be exchanged here.
        must_name = self._metadata.get("authorization_response_iss_parameter_supported") is True
        if answer.get("iss", None if must_name else self._config.issuer) != self._config.issuer:
            raise SignOnError(f"The answer is not from the issuer in server.oidc.issuer. {AGAIN}")
        if error := answer.get("error"):
            reason = f"{error}: {answer.get('error_description', '')}".rstrip(": ")[:300]
            raise SignOnError(f"The identity provider declined the sign-in ({reason}). {AGAIN}")
        form = {
            "grant_type": "authorization_code",
            "code": answer.get("code", ""),
            "redirect_uri": redirect_uri,
            "code_verifier": derive(secret, "verifier"),
        }
        tokens = await self._exchange(form)
        params = {
            "nonce": derive(secret, "nonce"),
            "client_id": self._config.client_id,
            "access_token": tokens.get("access_token"),
        }
        return self._sender(await self._verify(str(tokens.get("id_token", "")), params))

    async def _exchange(self, form: dict[str, str]) -> Mapping[str, Any]:
        """Exchange the code. The credentials are sent as RFC 6749, section 2.3.1 defines it."""
        client, key = self._config.client_id, self._config.client_secret.get_secret_value()
        if "client_secret_post" in (self._metadata.get("token_endpoint_auth_methods_supported") or ()):
            form |= {"client_id": client, "client_secret": key}
            return await self._request("POST", self._metadata["token_endpoint"], data=form)
        basic = httpx.BasicAuth(quote_plus(client), quote_plus(key))
        return await self._request("POST", self._metadata["token_endpoint"], data=form, auth=basic)

    async def _verify(self, token: str, params: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return the claims of an ID token. If its key is unknown, the keys are read again."""
        config = self._config
        options = {"iss": {"value": config.issuer}, "aud": {"value": config.client_id}}
        try:
            try:
                found = jwt.decode(token, self._keys, ALGORITHMS)
            except InvalidKeyIdError:
                await self._load(refresh=True)
                found = jwt.decode(token, self._keys, ALGORITHMS)
            claims = CodeIDToken(found.claims, found.header, options, params)
            claims.validate(int(self._clock.now()), LEEWAY)
        except (JoseError, ValueError) as error:
            if isinstance(error, ClaimError) and error.claim in {"exp", "iat", "nbf"}:
                hint = "Compare the clocks of this machine and of the provider, then sign in again."
                raise SignOnError(f"The provider's ID token is not valid at this time. {hint}") from error
            raise SignOnError(f"The provider's ID token is not valid ({error}). {AGAIN}") from error
        if not claims["sub"]:
            raise SignOnError(f"The provider's ID token has no subject. {AGAIN}")
        return dict(claims)

    async def _load(self, *, refresh: bool) -> None:
        """Read metadata and keys if they are old, or with `refresh`."""
        now, issuer = self._clock.now(), self._config.issuer
        if self._metadata and not refresh and now - self._read_at < REFRESH_EVERY:
            return
        # OpenID Connect Discovery 1.0, sections 4.1 and 4.3.
        metadata = await self._request("GET", f"{issuer.rstrip('/')}/.well-known/openid-configuration")
        if metadata.get("issuer") != issuer:
            found = f"The provider calls itself {metadata.get('issuer')!r}, not {issuer}."
            raise SignOnError(f"{found} An admin has to correct server.oidc.issuer.")
        for name in ENDPOINTS:
            if not str(metadata.get(name, "")).startswith(f"{urlsplit(issuer).scheme}://"):
                raise SignOnError(f"The provider's discovery document has no valid {name}. Tell an admin.")
        self._keys = _import_keys(await self._request("GET", metadata["jwks_uri"]))
        self._metadata, self._read_at = metadata, now

    async def _request(self, method: str, url: str, **options: Any) -> Mapping[str, Any]:
        """Return the JSON object of a response."""
        try:
            async with httpx.AsyncClient(verify=tls_context(), timeout=TIMEOUT) as client:
                answer = await client.request(method, url, **options)
            found = answer.json()
        except (httpx.HTTPError, httpx.InvalidURL, ValueError) as error:
            log.warning("sign_on_failed", url=url, problem=type(error).__name__)
            raise SignOnError(f"The identity provider does not respond at {url}. Try again later.") from error
        if not answer.is_success or not isinstance(found, dict):
            reason = found.get("error", "") if isinstance(found, dict) else ""
            log.warning("sign_on_failed", url=url, status=answer.status_code, problem=reason)
            refused = f"The identity provider refused a request ({answer.status_code} {reason})".rstrip(" )")
            raise SignOnError(f"{refused}). {AGAIN}")
        return found

    def _sender(self, claims: Mapping[str, Any]) -> Sender:
        """Return the person in an ID token, with their mapped groups."""
        config, subject = self._config, claims["sub"]
        plain = _PLAIN_ID.fullmatch(subject) is not None
        id_ = subject if plain else f"sub-{hashlib.sha256(subject.encode()).hexdigest()[:32]}"
        groups = claims.get(config.groups_claim)
        listed = groups if isinstance(groups, list) else [groups]
        mapped = [f"{GROUP}:{group}" for group in config.roles if group in listed]
        name = " ".join(str(claims.get(config.name_claim) or subject).split())[:100]
        return Sender(f"{SIGN_ON}:{id_}", name, belongs=(config.membership, *mapped), account=SIGN_ON)


def _import_keys(found: Mapping[str, Any]) -> jwk.KeySet:
    """Import a JWK set without the keys that can't be used: one of an unknown curve must not disable all."""
    listed, keys = found.get("keys"), []
    for one in listed if isinstance(listed, list) else ():
        with suppress(JoseError, AttributeError, LookupError, TypeError, ValueError):
            if one.get("kty") in {"RSA", "EC"}:
                keys.append(jwk.import_key(one))
    return jwk.KeySet(keys)
