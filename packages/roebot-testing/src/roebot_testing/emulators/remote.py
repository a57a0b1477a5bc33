"""Control an emulator that runs in another process."""

from __future__ import annotations

import base64
from types import TracebackType
from typing import Any, Self

import httpx

from agent.shared.tls import tls_context


class RemoteEmulator:
    """The control surface of an emulator at `url`, over HTTP (see `roebot_testing.emulators.control`)."""

    def __init__(self, url: str) -> None:
        self.url = url.rstrip("/")
        self._http = httpx.AsyncClient(base_url=self.url, trust_env=False, timeout=30, verify=tls_context())

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def close(self) -> None:
        """Close the connections."""
        await self._http.aclose()

    async def do(self, action: str, **arguments: Any) -> Any:
        """Call an action and return its result. Raises ValueError with the refusal's detail."""
        data = arguments.pop("data", None)
        if data is not None:
            arguments["data_base64"] = base64.b64encode(data).decode()
        response = await self._http.post(f"/_emulator/{action}", json=arguments)
        body = response.json()
        if response.status_code != 200:
            raise ValueError(body["detail"])
        return body["result"]

    async def transcript(self, since: int = 0) -> list[dict[str, Any]]:
        """Return all frames from number `since` on."""
        frames: list[dict[str, Any]] = []
        while True:
            query = {"since": frames[-1]["seq"] + 1 if frames else since, "limit": 1000}
            page = (await self._http.get("/_emulator/transcript", params=query)).json()["result"]
            frames += page
            if len(page) < 1000:
                return frames
