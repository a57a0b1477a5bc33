"""Authorization of requests to an MCP server by a person's sign-in: authorization code with PKCE.

The mcp package's provider does the protocol: discovery (RFC 9728, RFC 8414), dynamic registration (RFC 7591),
PKCE, resource indicators (RFC 8707) and refresh. Two of its gaps are closed here: after a restart it neither
knows when a stored token ends nor where the provider's endpoints are, so both are stored with the token.

The package's provider is used for sign-ins only. A server chooses its provider, so requests of a sign-in go
only to the server's own origin, to public https addresses and to hosts that the configuration names.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from typing import Any, TypeVar

import httpx
from mcp.client.auth import OAuthClientProvider, OAuthFlowError
from mcp.shared.auth import (
    OAuthClientInformationFull,
    OAuthClientMetadata,
    OAuthMetadata,
    OAuthToken,
    ProtectedResourceMetadata,
)
from pydantic import AnyUrl, BaseModel, ValidationError

from agent.config.extensions import McpOAuth
from agent.errors import McpUnavailable
from agent.mcp.sign_in_files import SignInFiles
from agent.mcp.sign_ins import PendingSignIn, SignIns

NEEDED = "needs a sign-in: call its tool sign_in."
PROTOCOL = "2025-06-18"
M = TypeVar("M", bound=BaseModel)
OpenClient = Callable[[], Awaitable[httpx.AsyncClient]]


class SignInStorage:
    """The package's storage interface, on a server's files for one person."""

    def __init__(self, files: SignInFiles, person: str, oauth: McpOAuth) -> None:
        self._files, self._person, self._oauth = files, person, oauth
        self.metadata: OAuthMetadata | None = None
        self.resource: ProtectedResourceMetadata | None = None
        self.expires_at: float | None = None

    async def get_tokens(self) -> OAuthToken | None:
        """Return the tokens, and cache the other stored data."""
        found = await self._files.load_tokens(self._person)
        if found is None:
            return None
        try:
            self.metadata = _parse(OAuthMetadata, found.get("provider"))
            self.resource = _parse(ProtectedResourceMetadata, found.get("resource"))
            self.expires_at = found.get("expires_at")
            return OAuthToken.model_validate(found.get("tokens"))
        except ValidationError:
            return None

    async def set_tokens(self, tokens: OAuthToken) -> None:
        """Store tokens, with their expiry and the provider's endpoints."""
        self.expires_at = time.time() + tokens.expires_in if tokens.expires_in else None
        content: dict[str, BaseModel | None] = {
            "tokens": tokens,
            "provider": self.metadata,
            "resource": self.resource,
        }
        stored = {key: one.model_dump(mode="json", exclude_none=True) for key, one in content.items() if one}
        await self._files.store_tokens(self._person, {**stored, "expires_at": self.expires_at})

    async def delete_tokens(self) -> None:
        await self._files.delete_tokens(self._person)

    async def get_client_info(self) -> OAuthClientInformationFull | None:
        """Return the configured client, or the registered one."""
        if self._oauth.client_id is not None:
            secret = self._oauth.client_secret.get_secret_value() if self._oauth.client_secret else None
            basic = self._oauth.client_auth == "basic"
            method = ("client_secret_basic" if basic else "client_secret_post") if secret else "none"
            return OAuthClientInformationFull(
                client_id=self._oauth.client_id,
                client_secret=secret,
                redirect_uris=None,
                token_endpoint_auth_method=method,
            )
        found = await self._files.load_client()
        try:
            return OAuthClientInformationFull.model_validate(found.get("client")) if found else None
        except ValidationError:
            return None

    async def set_client_info(self, client_info: OAuthClientInformationFull) -> None:
        """Store the registration, which everyone shares."""
        await self._files.store_client({"client": client_info.model_dump(mode="json", exclude_none=True)})


class BrowserAuth(OAuthClientProvider):
    """A person's authorization for one server.

    Only a sign-in that the person has asked for (`pending`) waits for their browser; any other request that
    needs one raises McpUnavailable.
    """

    def __init__(self, server: str, url: str, oauth: McpOAuth, sign_ins: SignIns, person: str) -> None:
        self._server, self._sign_ins = server, sign_ins
        self._stored = SignInStorage(sign_ins.files_of(server, url), person, oauth)
        self.pending: PendingSignIn | None = None
        super().__init__(
            url,
            OAuthClientMetadata(
                redirect_uris=[AnyUrl(sign_ins.callback_url or "http://localhost/")],
                client_name="Roebot",
                grant_types=["authorization_code", "refresh_token"],
                response_types=["code"],
                token_endpoint_auth_method="none" if oauth.client_secret is None else None,
                scope=oauth.scope,
            ),
            self._stored,
            redirect_handler=self._send_to_provider,
            callback_handler=self._wait_for_code,
        )
        self._scope = oauth.scope

    async def _initialize(self) -> None:
        await super()._initialize()
        self.context.token_expiry_time = self._stored.expires_at
        self.context.oauth_metadata = self._stored.metadata
        self.context.protected_resource_metadata = self._stored.resource
        self.context.protocol_version = PROTOCOL

    async def _perform_authorization_code_grant(self) -> tuple[str, str]:
        # The package asks for all scopes that the server names.
        self.context.client_metadata.scope = self._scope or self.context.client_metadata.scope
        return await super()._perform_authorization_code_grant()

    async def _handle_token_response(self, response: httpx.Response) -> None:
        self._stored.metadata = self.context.oauth_metadata
        self._stored.resource = self.context.protected_resource_metadata
        await super()._handle_token_response(response)

    async def _handle_refresh_response(self, response: httpx.Response) -> bool:
        earlier = self.context.current_tokens.refresh_token if self.context.current_tokens else None
        done = await super()._handle_refresh_response(response)
        tokens = self.context.current_tokens
        if done and tokens is not None and tokens.refresh_token is None:
            # RFC 6749, section 6: without a new one, the old one stays valid.
            tokens.refresh_token = earlier
            await self._stored.set_tokens(tokens)
        return done

    async def load(self) -> None:
        """Reload the stored tokens."""
        await self._initialize()

    async def refresh(self, http: httpx.AsyncClient) -> bool:
        """Exchange the refresh token; return whether there are new tokens. Raises HTTPStatusError."""
        if not self.context.can_refresh_token():
            return False
        response = await http.send(await self._refresh_token())
        if response.status_code == 429 or response.status_code >= 500:
            response.raise_for_status()
        return await self._handle_refresh_response(response)

    async def forget(self) -> None:
        """Delete the stored tokens."""
        await self._stored.delete_tokens()

    @property
    def access_token(self) -> str | None:
        """Return the token if it has not expired."""
        tokens = self.context.current_tokens
        return tokens.access_token if tokens is not None and self.context.is_token_valid() else None

    async def _send_to_provider(self, url: str) -> None:
        if self.pending is None:
            raise McpUnavailable(NEEDED, server=self._server)
        self._sign_ins.set_provider_url(self.pending, url)

    async def _wait_for_code(self) -> tuple[str, str | None]:
        assert self.pending is not None
        return await self.pending.outcome


class PersonAuth(httpx.Auth):
    """Adds a person's token to the requests of all their sessions, refreshing it once for all.

    The package's own flow would hold a lock during each request. Raises McpUnavailable if the person has to
    sign in.
    """

    def __init__(self, server: str, make: Callable[[], BrowserAuth], open_client: OpenClient) -> None:
        self._server, self._make, self._open_client = server, make, open_client
        self._provider: BrowserAuth | None = None
        self._lock = asyncio.Lock()

    def expire(self) -> None:
        """Reread the stored tokens at the next request."""
        self._provider = None

    async def has_token(self) -> bool:
        """Return whether the person is signed in."""
        try:
            await self._find_token()
        except McpUnavailable:
            return False
        return True

    async def async_auth_flow(self, request: httpx.Request) -> AsyncGenerator[httpx.Request, httpx.Response]:
        token = await self._find_token()
        request.headers["Authorization"] = f"Bearer {token}"
        response = yield request
        if response.status_code == 401:
            request.headers["Authorization"] = f"Bearer {await self._find_token(rejected=token)}"
            response = yield request
        challenge = response.headers.get("WWW-Authenticate", "")
        if response.status_code == 403 and "insufficient_scope" in challenge:
            raise McpUnavailable(
                "needs permissions that the sign-in does not include. Add them to `oauth.scope`, and sign in "
                "again.",
                server=self._server,
            )

    async def _find_token(self, rejected: str | None = None) -> str:
        async with self._lock:
            if self._provider is None:
                self._provider = self._make()
                await self._provider.load()
            token = self._provider.access_token
            if token is not None and token != rejected:
                return token
            async with await self._open_client() as http:
                try:
                    await self._provider.refresh(http)
                except (httpx.HTTPError, OAuthFlowError) as error:
                    problem = f"can't renew the sign-in ({type(error).__name__}). Try again later."
                    raise McpUnavailable(problem, server=self._server) from error
            token = self._provider.access_token
            if token is None or token == rejected:
                await self._provider.forget()
                self._provider = None
                raise McpUnavailable(NEEDED, server=self._server)
            return token


def _parse(kind: type[M], stored: Mapping[str, Any] | None) -> M | None:
    return kind.model_validate(stored) if stored else None
