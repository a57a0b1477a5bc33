"""The control surface of an emulator for other processes: its Python methods over HTTP."""

from __future__ import annotations

import base64
from collections.abc import Callable, Mapping
from typing import Any

import orjson

from roebot_testing.emulators.http import Exchange
from roebot_testing.emulators.transcript import Transcript

PREFIX = "/_emulator/"
Action = Callable[..., Any]


class Control:
    """`GET transcript?since=&limit=` reads frames; `POST <action>` calls an action with a JSON object.

    Bytes travel as base64 under `data_base64`. Answers are `{"result": …}`, refusals 400 with
    `{"detail": …}`.
    """

    def __init__(
        self, transcript: Transcript, actions: Mapping[str, Action], present: Callable[[Any], Any]
    ) -> None:
        self._transcript = transcript
        self._actions = actions
        self._present = present

    async def handle(self, http: Exchange) -> None:
        """Handle one request below the prefix."""
        name = http.path.removeprefix(PREFIX)
        if name == "transcript":
            since, limit = int(http.query.get("since", 0)), int(http.query.get("limit", 1000))
            frames = self._transcript.since(since, limit)
            await http.answer(200, {"result": [frame.as_json() for frame in frames]})
            return
        action = self._actions.get(name)
        if action is None:
            known = ", ".join(sorted(self._actions))
            await http.answer(404, {"detail": f"no such control; there are {known}"})
            return
        try:
            result = self._present(action(**_arguments(await http.body())))
        except (KeyError, TypeError, ValueError) as error:
            await http.answer(400, {"detail": f"{type(error).__name__}: {error}"})
            return
        await http.answer(200, {"result": result})


def _arguments(body: bytes) -> dict[str, Any]:
    arguments = orjson.loads(body or b"{}")
    if not isinstance(arguments, dict):
        raise ValueError("the body must be a JSON object")
    if "data_base64" in arguments:
        arguments["data"] = base64.b64decode(arguments.pop("data_base64"), validate=True)
    return arguments
