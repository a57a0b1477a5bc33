"""An OpenID Connect provider on a loopback port that refuses what real ones refuse.

Sections: Core = OpenID Connect Core 1.0, Discovery = OpenID Connect Discovery 1.0. It never asks a person:
whoever comes to the authorization endpoint is `claims["sub"]`.
"""

from __future__ import annotations

import base64
import hashlib
import secrets
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import unquote_plus, urlencode

from joserfc import jwt
from joserfc.jwk import RSAKey
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, RedirectResponse, Response
from starlette.routing import Route

from tests.platforms.web.serving import serving

CLIENT, SECRET = "roebot", "s3cret%+/:with-signs"
CODE_LASTS = 60.0


@dataclass
class Grant:
    """What a code stands for."""

    redirect_uri: str
    challenge: str
    nonce: str
    at: float


@dataclass
class OpenIdProvider:
    """The provider. Tests replace parts of it by those of an attacker."""

    redirect_uri: str = ""
    issuer: str = ""
    claims: dict[str, Any] = field(default_factory=lambda: {"sub": "u1", "name": "Ann", "groups": ["staff"]})
    keys: list[RSAKey] = field(default_factory=lambda: [new_key("k1")])
    metadata: dict[str, Any] = field(default_factory=dict)
    added: dict[str, Any] = field(default_factory=dict)
    """Keys of the token response."""
    answer: dict[str, str] = field(default_factory=dict)
    """Parameters of the answer to the browser."""
    sign: Callable[[dict[str, Any]], str] | None = None
    codes: dict[str, Grant] = field(default_factory=dict)
    requests: list[str] = field(default_factory=list)
    failing: dict[str, Response] = field(default_factory=dict)

    def app(self) -> Starlette:
        """The endpoints."""
        routes = [
            Route("/.well-known/openid-configuration", self._discover),
            Route("/jwks", self._list_keys),
            Route("/authorize", self._authorize),
            Route("/token", self._exchange, methods=["POST"]),
        ]
        return Starlette(routes=routes)

    async def _discover(self, request: Request) -> Response:
        # Discovery, section 3: the members that are REQUIRED.
        self.requests.append("metadata")
        document = {
            "issuer": self.issuer,
            "authorization_endpoint": f"{self.issuer}/authorize",
            "token_endpoint": f"{self.issuer}/token",
            "jwks_uri": f"{self.issuer}/jwks",
            "response_types_supported": ["code"],
            "subject_types_supported": ["public"],
            "id_token_signing_alg_values_supported": ["RS256"],
            "authorization_response_iss_parameter_supported": True,
        }
        return self.failing.get("metadata") or JSONResponse({**document, **self.metadata})

    async def _list_keys(self, request: Request) -> Response:
        self.requests.append("keys")
        foreign = {"kty": "EC", "crv": "P-999", "kid": "odd", "x": "AA", "y": "AA"}
        return JSONResponse({"keys": [foreign, *(key.as_dict(private=False) for key in self.keys)]})

    async def _authorize(self, request: Request) -> Response:
        query = request.query_params
        # RFC 6749, section 4.1.2.1: no redirect to an address that is not registered.
        if query.get("client_id") != CLIENT or query.get("redirect_uri") != self.redirect_uri:
            return JSONResponse({"error": "invalid_request"}, 400)
        # Core, section 3.1.2.1; RFC 7636, section 4.3; RFC 6749, section 3.1 (no parameter twice).
        well_formed = (
            query.get("response_type") == "code"
            and "openid" in query.get("scope", "").split()
            and len(query.get("state", "")) >= 32
            and len(query.get("nonce", "")) >= 32
            and query.get("code_challenge_method") == "S256"
            and len(query.get("code_challenge", "")) == 43
            and len(query.multi_items()) == len(query)
        )
        # RFC 9207, section 2: errors name the issuer, too.
        answer = {"state": query.get("state", ""), "iss": self.issuer}
        if well_formed:
            code = secrets.token_urlsafe(32)
            grant = Grant(query["redirect_uri"], query["code_challenge"], query["nonce"], time.time())
            self.codes[code] = grant
            answer["code"] = code
        else:
            answer["error"] = "invalid_request"
        answer = {name: value for name, value in {**answer, **self.answer}.items() if value}
        return RedirectResponse(f"{self.redirect_uri}?{urlencode(answer)}", 302)

    async def _exchange(self, request: Request) -> Response:
        self.requests.append("token")
        if "token" in self.failing:
            return self.failing["token"]
        form = await request.form()
        if not self._is_client(request, {name: str(value) for name, value in form.items()}):
            return JSONResponse({"error": "invalid_client"}, 401)
        # RFC 6749, section 4.1.2: a code is used once; a second use ends what it stood for.
        grant = self.codes.pop(str(form.get("code")), None)
        verifier = str(form.get("code_verifier", ""))
        valid = (
            grant is not None
            and form.get("grant_type") == "authorization_code"
            and time.time() - grant.at < CODE_LASTS
            # Section 4.1.3: identical addresses. RFC 7636, sections 4.1 and 4.6.
            and form.get("redirect_uri") == grant.redirect_uri
            and 43 <= len(verifier) <= 128
            and challenge_of(verifier) == grant.challenge
        )
        if not valid or grant is None:
            return JSONResponse({"error": "invalid_grant"}, 400)
        now = int(time.time())
        claims = {"iss": self.issuer, "aud": CLIENT, "iat": now, "exp": now + 300, "nonce": grant.nonce}
        found = {name: value for name, value in {**claims, **self.claims}.items() if value is not None}
        signed = (self.sign or self.sign_with(self.keys[-1]))(found)
        body = {"access_token": "at", "token_type": "Bearer", "id_token": signed, **self.added}
        return JSONResponse(body, headers={"cache-control": "no-store"})

    def _is_client(self, request: Request, form: dict[str, str]) -> bool:
        # RFC 6749, section 2.3: one method in a request; 2.3.1: HTTP Basic with encoded values.
        scheme, _, sent = request.headers.get("authorization", "").partition(" ")
        if "client_secret_post" in self.metadata.get("token_endpoint_auth_methods_supported", ()):
            return not scheme and (form.get("client_id"), form.get("client_secret")) == (CLIENT, SECRET)
        if scheme.lower() != "basic" or "client_secret" in form:
            return False
        name, _, secret = base64.b64decode(sent).decode().partition(":")
        return (unquote_plus(name), unquote_plus(secret)) == (CLIENT, SECRET)

    @staticmethod
    def sign_with(key: RSAKey, algorithm: str = "RS256") -> Callable[[dict[str, Any]], str]:
        """A function that signs claims."""
        header = {"alg": algorithm, "kid": str(key.kid)}
        return lambda claims: jwt.encode(header, claims, key, [algorithm])


def new_key(name: str) -> RSAKey:
    """A new key to sign with."""
    return RSAKey.generate_key(2048, {"kid": name, "use": "sig", "alg": "RS256"})


def challenge_of(verifier: str) -> str:
    """The S256 challenge (RFC 7636, section 4.2)."""
    return base64.urlsafe_b64encode(hashlib.sha256(verifier.encode()).digest()).rstrip(b"=").decode()


@asynccontextmanager
async def openid_provider() -> AsyncIterator[OpenIdProvider]:
    """A running provider."""
    provider = OpenIdProvider()
    async with serving(provider.app()) as (url, _):
        provider.issuer = url
        yield provider
