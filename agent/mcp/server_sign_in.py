"""Sign-ins of people to one server: identity, authorization, and the complete sign-in process."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from importlib import import_module
from typing import Any

import httpx
import structlog
from langgraph.types import interrupt

from agent.config.extensions import McpOAuth
from agent.core.run_context import RunContext
from agent.errors import AgentError, McpUnavailable
from agent.mcp.form_words import words_for
from agent.mcp.guarded_transport import make_sign_in_client
from agent.mcp.live_calls import current_step
from agent.mcp.sign_in_files import SHARED
from agent.mcp.sign_ins import PendingSignIn, SignInFailed, SignIns

log = structlog.get_logger(__name__)
REQUEST_SECONDS = 30.0
FINISH_SECONDS = 20.0
"""Seconds to wait for the end of a sign-in after the person says that it is done."""
_PROBE = {
    "jsonrpc": "2.0",
    "id": 0,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": "roebot", "version": "1"},
    },
}
_HEADERS = {"Accept": "application/json, text/event-stream", "MCP-Protocol-Version": "2025-06-18"}
IN_PRIVATE = "People sign in to {server} in a private chat with the bot; ask them to write there."
FOR_ADMINS = "The sign-in to {server} is shared by everybody, so only an admin can do it, in a private chat."
SIGNED_IN = "Signed in to {server}. Its tools can be used from the next message on."
NOT_YET = "The sign-in to {server} is not complete."
LINK = "To sign in to {server}, a person has to open this link, which is theirs alone: {url}"


class ServerSignIn:
    """Sign-ins to a server at `url`. `on_signed_in` is called after each."""

    def __init__(
        self, server: str, url: str, oauth: McpOAuth, sign_ins: SignIns, on_signed_in: Callable[[], None]
    ) -> None:
        self._server, self._url, self._oauth = server, url, oauth
        self._sign_ins, self._on_signed_in = sign_ins, on_signed_in
        self._auths: dict[str, Any] = {}
        self._tasks: dict[str, asyncio.Task[None]] = {}

    @property
    def is_shared(self) -> bool:
        """Return whether everyone shares one sign-in."""
        return self._oauth.sign_in == "shared"

    def person_of(self, context: RunContext) -> str:
        """Return the person whose sign-in a run uses."""
        return SHARED if self.is_shared else context.user_id or SHARED

    def auth_of(self, person: str) -> Any:
        """Return the authorization of a person's requests."""
        if person not in self._auths:
            module = import_module("agent.mcp.browser_auth")
            make = lambda: module.BrowserAuth(  # noqa: E731 - called for each reload
                self._server, self._url, self._oauth, self._sign_ins, person
            )
            self._auths[person] = module.PersonAuth(self._server, make, self._open_client)
        return self._auths[person]

    async def find_person(self) -> str:
        """Return a signed-in person for listing the tools; the shared sign-in if there is none."""
        people = await self._sign_ins.files_of(self._server, self._url).find_people()
        return people[0] if people else SHARED

    async def ask_to_sign_in(self, context: RunContext) -> str:
        """Start a sign-in for a run's person, and return the message for the model."""
        if refusal := self._find_refusal(context):
            return refusal.format(server=self._server)
        person = self.person_of(context)
        if await self.auth_of(person).has_token():
            return SIGNED_IN.format(server=self._server)
        pending = await self._begin(person, context)
        if pending is None:
            return SIGNED_IN.format(server=self._server)
        url = self._sign_ins.start_url(pending)
        if current_step() is None:
            return LINK.format(server=self._server, url=url)
        words = words_for(context.locale)
        question = f"{words.sign_in.format(server=self._server)}\n{words.link.format(url=url)}"
        options = [words.done, words.decline]
        interrupt({"type": "clarification", "kind": "missing_info", "question": question, "options": options})
        await asyncio.wait([self._tasks[person]], timeout=FINISH_SECONDS)
        done = await self.auth_of(person).has_token()
        return (SIGNED_IN if done else NOT_YET).format(server=self._server)

    def close(self) -> None:
        """Cancel all pending sign-ins."""
        for task in self._tasks.values():
            task.cancel()

    def _find_refusal(self, context: RunContext) -> str:
        if context.chat_kind == "group":
            return IN_PRIVATE
        is_admin = not context.platform or "admin" in context.roles
        return FOR_ADMINS if self.is_shared and not is_admin else ""

    async def _begin(self, person: str, context: RunContext) -> PendingSignIn | None:
        """Return a sign-in with a known provider; None if the server needs none. Raises McpUnavailable."""
        pending = self._sign_ins.find(self._server, person)
        if pending is None or not pending.provider_url:
            asked_by, account = context.user_id or "", context.account or ""
            pending = self._sign_ins.open(self._server, person, asked_by=asked_by, account=account)
            self._tasks[person] = asyncio.create_task(self._perform(pending))
        task = self._tasks[person]
        known = asyncio.ensure_future(pending.known.wait())
        await asyncio.wait([task, known], return_when=asyncio.FIRST_COMPLETED)
        known.cancel()
        if not task.done():
            return pending
        if (error := task.exception()) is not None:
            raise error
        return None

    async def _perform(self, pending: PendingSignIn) -> None:
        """Sign in: the package requests a token when the server rejects a request."""
        module = import_module("agent.mcp.browser_auth")
        auth = module.BrowserAuth(self._server, self._url, self._oauth, self._sign_ins, pending.person)
        auth.pending = pending
        try:
            async with (
                await self._open_client() as http,
                http.stream("POST", self._url, json=_PROBE, headers=_HEADERS, auth=auth) as response,
            ):
                status = response.status_code
        except SignInFailed as error:
            raise McpUnavailable(f"sign-in failed: {error}.", server=self._server) from None
        except AgentError:
            raise
        except (httpx.HTTPError, module.OAuthFlowError) as error:
            log.warning("mcp_sign_in_failed", server=self._server, error=type(error).__name__)
            raise McpUnavailable(
                f"can't be signed in to ({type(error).__name__}).", server=self._server
            ) from error
        finally:
            self._sign_ins.close(pending, SignInFailed("it has ended"))
        if status >= 400:
            raise McpUnavailable(f"returned status {status} after the sign-in.", server=self._server)
        self.auth_of(pending.person).expire()
        log.info("mcp_signed_in", server=self._server)
        self._on_signed_in()

    async def _open_client(self) -> httpx.AsyncClient:
        return await asyncio.to_thread(
            make_sign_in_client, self._server, self._url, self._oauth.trusted_hosts, REQUEST_SECONDS
        )
