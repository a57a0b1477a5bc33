"""Application commands and the interactions of people with commands and buttons."""

from __future__ import annotations

import re
from typing import Any

from bot.testing.emulators.api import CallResult
from bot.testing.emulators.discord.calls import DiscordCall
from bot.testing.emulators.discord.components import components_of
from bot.testing.emulators.discord.errors import (
    DiscordApiError,
    invalid,
    unknown_interaction,
    unknown_message,
    unknown_webhook,
)
from bot.testing.emulators.discord.messages import NO_EMBEDS, Emit, Messages, content_of, done
from bot.testing.emulators.discord.state import COMMAND_REPLY, EPHEMERAL, LOADING, DiscordMessage, Interaction
from bot.testing.emulators.discord.wire import message_wire
from bot.testing.emulators.discord.workspace import DiscordWorkspace

ANSWER_SECONDS, TOKEN_SECONDS = 3.0, 900.0
"""docs.discord.com/developers/interactions/receiving-and-responding#interaction-callback"""
COMMANDS_LIMIT = 100
DESCRIPTION_LIMIT = 100
_NAME = re.compile(r"[-_'\w]{1,32}")
_MESSAGE, _DEFERRED, _LATER, _UPDATE = 4, 5, 6, 7


class Interactions:
    """Handlers of commands and interactions; `scale` shortens the life of tokens."""

    def __init__(self, world: DiscordWorkspace, messages: Messages, emit: Emit) -> None:
        self.scale = 1.0
        self._world = world
        self._messages = messages
        self._emit = emit

    def put_commands(self, call: DiscordCall) -> CallResult:
        """Bulk Overwrite Global Application Commands."""
        commands = call.body
        if not isinstance(commands, list) or len(commands) > COMMANDS_LIMIT:
            raise DiscordApiError(400, 30032, "Maximum number of application commands reached (100)")
        for command in commands:
            _check(command)
        common = {"type": 1, "version": "1", "application_id": str(self._world.bot.id)}
        self._world.commands = [
            {**common, "id": str(self._world.snowflake()), **command} for command in commands
        ]
        return CallResult(self._world.commands)

    def get_commands(self, call: DiscordCall) -> CallResult:
        """Get Global Application Commands."""
        return CallResult(self._world.commands)

    def callback(self, call: DiscordCall) -> CallResult:
        """Create Interaction Response: within three seconds, once."""
        interaction = self._interaction(call)
        if self._age(interaction) > ANSWER_SECONDS:
            raise unknown_interaction()
        if interaction.acknowledged:
            raise DiscordApiError(400, 40060, "Interaction has already been acknowledged.")
        kind, data = call.json.get("type"), call.json.get("data") or {}
        if kind in (_LATER, _UPDATE) and interaction.pressed is not None:
            interaction.answer = self._update(interaction.pressed, data if kind == _UPDATE else {}, call)
        elif kind == _DEFERRED:
            flags = int(data.get("flags", 0)) & (EPHEMERAL | NO_EMBEDS)
            interaction.answer = self._answer(interaction, "", call, LOADING | flags)
        elif kind == _MESSAGE:
            flags = int(data.get("flags", 0)) & (EPHEMERAL | NO_EMBEDS)
            interaction.answer = self._answer(interaction, content_of(data, call), call, flags)
        else:
            raise invalid(type="The emulator knows types 4 and 5, of buttons 6 and 7 too.")
        interaction.acknowledged = True
        shown = _response(interaction, kind) if call.query.get("with_response") else None
        return CallResult(shown, message_id=str(interaction.answer.id), text=interaction.answer.text)

    def followup(self, call: DiscordCall) -> CallResult:
        """Create Followup Message; the first one fills a deferred answer."""
        interaction = self._open(call)
        if interaction.answer is not None and interaction.answer.flags & LOADING:
            return self._messages.change(interaction.answer, call)
        flags = int(call.json.get("flags", 0)) & (EPHEMERAL | NO_EMBEDS)
        return done(self._answer(interaction, content_of(call.json, call), call, flags))

    def edit(self, call: DiscordCall) -> CallResult:
        """Edit Original Interaction Response, or a follow-up by its id."""
        return self._messages.change(self._target(call), call)

    def get(self, call: DiscordCall) -> CallResult:
        """Get Original Interaction Response."""
        return CallResult(message_wire(self._target(call)))

    def delete(self, call: DiscordCall) -> CallResult:
        """Delete Original Interaction Response."""
        message = self._target(call)
        self._messages.remove(message)
        return CallResult(None, message_id=str(message.id), text=message.text)

    def _update(self, message: DiscordMessage, data: dict[str, Any], call: DiscordCall) -> DiscordMessage:
        if "components" in data:
            message.components = components_of(data)
        if "content" in data:
            message.text = content_of(data, call)
        if data:
            self._emit("MESSAGE_UPDATE", message_wire(message, event=True))
        return message

    def _answer(self, interaction: Interaction, text: str, call: DiscordCall, flags: int) -> DiscordMessage:
        about: dict[str, Any] = {"id": str(interaction.id), "type": 2, "user": interaction.user.wire()}
        about["authorizing_integration_owners"] = {}
        extra = {"interaction_metadata": about, "webhook_id": str(self._world.bot.id)}
        message = self._messages.post(
            interaction.channel, text, call, kind=COMMAND_REPLY, flags=flags, extra=extra
        )
        self._emit("MESSAGE_CREATE", message_wire(message, event=True))
        return message

    def _interaction(self, call: DiscordCall) -> Interaction:
        interaction = self._world.interactions.get(call.path["token"])
        if interaction is None:
            raise unknown_interaction()
        return interaction

    def _open(self, call: DiscordCall) -> Interaction:
        interaction = self._world.interactions.get(call.path["token"])
        if interaction is None or not interaction.acknowledged:
            raise unknown_webhook()
        if self._age(interaction) > TOKEN_SECONDS * self.scale:
            raise DiscordApiError(401, 50027, "Invalid Webhook Token")
        return interaction

    def _target(self, call: DiscordCall) -> DiscordMessage:
        interaction = self._open(call)
        wanted = call.path.get("message", "@original")
        if wanted == "@original":
            message = interaction.answer
        else:
            message = interaction.channel.messages.get(int(wanted))
        if message is None or message.deleted:
            raise unknown_message()
        return message

    def _age(self, interaction: Interaction) -> float:
        return self._world.wall() - interaction.made_at


def _response(interaction: Interaction, kind: int) -> dict[str, Any]:
    """The interaction callback response object."""
    message = message_wire(interaction.answer) if interaction.answer else None
    about = {"id": str(interaction.id), "type": 2, "response_message_ephemeral": False}
    about["response_message_loading"] = kind == _DEFERRED
    return {"interaction": about, "resource": {"type": kind, "message": message}}


def _check(command: Any) -> None:
    if not isinstance(command, dict):
        raise invalid(_="a command is an object")
    name, description = str(command.get("name", "")), str(command.get("description", ""))
    if not _NAME.fullmatch(name) or name != name.lower():
        raise invalid(name="Command name is invalid")
    if not 1 <= len(description) <= DESCRIPTION_LIMIT:
        raise invalid(description="Must be between 1 and 100 in length.")
    for option in command.get("options", []):
        if not 1 <= len(str(option.get("description", ""))) <= DESCRIPTION_LIMIT:
            raise invalid(options="Must be between 1 and 100 in length.")
