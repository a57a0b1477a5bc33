"""Application commands and the interactions of people with commands and buttons."""

from __future__ import annotations

from collections import Counter
from typing import Any

from roebot_testing.emulators.api import CallResult
from roebot_testing.emulators.discord.calls import DiscordCall
from roebot_testing.emulators.discord.components import IS_COMPONENTS_V2
from roebot_testing.emulators.discord.errors import DiscordApiError, DiscordRefusal
from roebot_testing.emulators.discord.forms import check, choice, refuse, required
from roebot_testing.emulators.discord.messages import NO_EMBEDS, Emit, Messages, done, read_content
from roebot_testing.emulators.discord.rules import CHAT_INPUT, COMMAND, COMMANDS, MENU, SLASH
from roebot_testing.emulators.discord.state import (
    COMMAND_REPLY,
    EPHEMERAL,
    LOADING,
    DiscordMessage,
    Interaction,
)
from roebot_testing.emulators.discord.wire import message_wire
from roebot_testing.emulators.discord.workspace import DiscordWorkspace

ANSWER_SECONDS, TOKEN_SECONDS = 3.0, 900.0
"""docs.discord.com/developers/interactions/receiving-and-responding#interaction-callback"""
MOST = {CHAT_INPUT: 100, 2: 15, 3: 15, 4: 1}
"""Commands of each type
(docs.discord.com/developers/interactions/application-commands#registering-a-command)."""
_MESSAGE, _DEFERRED, _LATER, _UPDATE = 4, 5, 6, 7
_RESPONDING = "docs.discord.com/developers/interactions/receiving-and-responding#interaction-response-object"
CALLBACK = (required("type", _RESPONDING), choice("type", (1, 4, 5, 6, 7, 8, 9, 10, 12), _RESPONDING))
FOR_COMPONENTS = (choice("type", (4, 5, 9), f"{_RESPONDING}-interaction-callback-type"),)
"""Answers to commands: types 6 and 7 are "only valid for component-based interactions"."""
_SETTABLE = NO_EMBEDS | EPHEMERAL | IS_COMPONENTS_V2


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
        if not isinstance(commands, list) or not all(isinstance(one, dict) for one in commands):
            raise DiscordRefusal.NO_JSON.error()
        kinds = Counter(int(command.get("type", CHAT_INPUT)) for command in commands)
        if any(count > MOST.get(kind, 0) for kind, count in kinds.items() if kind in MOST):
            raise DiscordRefusal.TOO_MANY_COMMANDS.error()
        found = check(COMMANDS, commands)
        for index, command in enumerate(commands):
            rules = SLASH if command.get("type", CHAT_INPUT) == CHAT_INPUT else MENU
            found += check((*COMMAND, *rules), command, (index,))
        refuse(found)
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
            raise DiscordRefusal.UNKNOWN_INTERACTION.error()
        if interaction.acknowledged:
            raise DiscordRefusal.ALREADY_ACKNOWLEDGED.error()
        rules = CALLBACK if interaction.pressed is not None else (*CALLBACK, *FOR_COMPONENTS)
        refuse(check(rules, call.json))
        if interaction.channel.archived:
            raise DiscordRefusal.THREAD_ARCHIVED.error()  # discord-api-docs#5517
        kind, data = int(call.json["type"]), call.json.get("data") or {}
        if kind in (_LATER, _UPDATE) and interaction.pressed is not None:
            interaction.answer = self._update(interaction.pressed, data if kind == _UPDATE else {}, call)
        elif kind == _DEFERRED:
            # The only flag that a deferral may set (…#interaction-response-object-messages).
            flags = int(data.get("flags", 0)) & EPHEMERAL
            interaction.answer = self._answer(interaction, "", call, LOADING | flags)
        elif kind == _MESSAGE:
            text = read_content(call, data, at=("data",))
            interaction.answer = self._answer(interaction, text, call, int(data.get("flags", 0)) & _SETTABLE)
            interaction.answer.components = data.get("components") or []
        else:
            raise DiscordApiError(501, 0, f"The emulator has no callbacks of type {kind}.")
        interaction.acknowledged = True
        shown = _response(interaction, kind) if call.query.get("with_response") else None
        return CallResult(shown, message_id=str(interaction.answer.id), text=interaction.answer.text)

    def followup(self, call: DiscordCall) -> CallResult:
        """Create Followup Message; the first one fills a deferred answer."""
        interaction = self._open(call)
        answer = interaction.answer
        if answer is not None and answer.flags & LOADING and not answer.deleted:
            return self._messages.change(answer, call)
        flags = int(call.json.get("flags", 0)) & _SETTABLE
        message = self._answer(interaction, read_content(call), call, flags)
        message.components = call.json.get("components") or []
        return done(message)

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
        flags = message.flags & IS_COMPONENTS_V2 | int(data.get("flags", 0))
        text = read_content(call, data, at=("data",), flags=flags, is_empty="content" in data)
        if "components" in data:
            message.components = data["components"] or []
        if "content" in data:
            message.text = text
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
            raise DiscordRefusal.UNKNOWN_INTERACTION.error()
        return interaction

    def _open(self, call: DiscordCall) -> Interaction:
        interaction = self._world.interactions.get(call.path["token"])
        if interaction is None or not interaction.acknowledged:
            raise DiscordRefusal.UNKNOWN_WEBHOOK.error()
        if self._age(interaction) > TOKEN_SECONDS * self.scale:
            raise DiscordRefusal.INVALID_WEBHOOK_TOKEN.error()
        return interaction

    def _target(self, call: DiscordCall) -> DiscordMessage:
        """Return the answer, or a message that was sent by the same webhook
        (docs.discord.com/developers/resources/webhook#edit-webhook-message and #delete-webhook-message).
        """
        interaction = self._open(call)
        wanted = call.path.get("message", "@original")
        if wanted == "@original":
            message = interaction.answer
        else:
            message = interaction.channel.messages.get(int(wanted))
            if message is not None and message.extra.get("webhook_id") != str(self._world.bot.id):
                raise DiscordRefusal.UNKNOWN_MESSAGE.error()
        if message is None or message.deleted:
            raise DiscordRefusal.UNKNOWN_MESSAGE.error()
        return message

    def _age(self, interaction: Interaction) -> float:
        return self._world.wall() - interaction.made_at


def _response(interaction: Interaction, kind: int) -> dict[str, Any]:
    """The interaction callback response object."""
    message = message_wire(interaction.answer) if interaction.answer else None
    about = {"id": str(interaction.id), "type": 2, "response_message_ephemeral": False}
    about["response_message_loading"] = kind == _DEFERRED
    return {"interaction": about, "resource": {"type": kind, "message": message}}
