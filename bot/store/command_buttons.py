"""Command buttons below an answer, for the person who received it.

A click is handled as the command itself, with its permissions, limits and audit event, so that a button can
do nothing else. Only the person who was answered may press it, and admins are no exception: the command
would run as theirs, and `/data erase` would erase their data. A notice answers nobody, so everybody in its
chat may press its buttons. One click removes all buttons of the message,
so only one counts. Labels and commands are stored with the part, so buttons survive a restart.
"""

from __future__ import annotations

from bot.domain import InboundMessage, PressedButton
from bot.store.connection import Connection, decode_commands, decode_sender, sql

# List the buttons of a chat that may have been posted as this message: the platform id of a new post may not
# be stored yet when its button is pressed.
BUTTONS_OF_MESSAGE = sql(
    """SELECT p.turn_id, p.position, p.choices, p.platform_id, i.sender FROM conversations c
    JOIN turns t ON t.conversation_id = c.id JOIN parts p ON p.turn_id = t.id
    JOIN inbound i ON i.turn_id = t.id AND i.turn_id > 0
    WHERE c.account = :account AND c.chat = :chat AND t.kind = 'command' AND p.choices LIKE '[[%'
    AND (p.platform_id = :message_id OR (p.platform_id = '' AND p.state = 'intended'))
    ORDER BY p.platform_id DESC, t.id DESC"""
)
# List the same of the agent's answers with a preview: they belong to the person who would be the creator.
PREVIEWS_OF_MESSAGE = sql(
    """SELECT p.turn_id, p.position, p.choices, p.platform_id, s.maker AS sender FROM conversations c
    JOIN turns t ON t.conversation_id = c.id JOIN parts p ON p.turn_id = t.id
    JOIN schedule_proposals o ON o.turn_id = t.id AND o.decision = ''
    JOIN schedules s ON s.id = o.draft AND s.state = 'draft'
    WHERE c.account = :account AND c.chat = :chat AND t.kind = 'chat' AND p.choices LIKE '[[%'
    AND (p.platform_id = :message_id OR (p.platform_id = '' AND p.state = 'intended'))
    ORDER BY p.platform_id DESC, t.id DESC"""
)
# List the same of notices, which answer nobody.
NOTICES_OF_MESSAGE = sql(
    """SELECT p.turn_id, p.position, p.choices, p.platform_id, '' AS sender FROM conversations c
    JOIN turns t ON t.conversation_id = c.id JOIN parts p ON p.turn_id = t.id
    WHERE c.account = :account AND c.chat = :chat AND t.kind = 'notice' AND p.choices LIKE '[[%'
    AND (p.platform_id = :message_id OR (p.platform_id = '' AND p.state = 'intended'))
    ORDER BY p.platform_id DESC, t.id DESC"""
)
# Check that a message is known, so that its button belongs to none that is on its way.
IS_POSTED = sql(
    """SELECT 1 FROM conversations c JOIN turns t ON t.conversation_id = c.id JOIN parts p ON p.turn_id = t.id
    WHERE c.account = :account AND c.chat = :chat AND p.platform_id = :message_id"""
)
HAS_BUTTONS = sql("SELECT 1 FROM parts WHERE turn_id = :turn AND position = :position AND choices LIKE '[[%'")
# Remove the buttons of a message for good, since one of them was used: SAVE_PART leaves an empty list alone.
CLOSE_BUTTONS = sql(
    """UPDATE parts SET choices = '[]' WHERE turn_id = :turn AND position = :position
    AND choices LIKE '[[%'"""
)


def find_pressed_button(connection: Connection, click: InboundMessage) -> PressedButton | None:
    """Return the command button that was clicked, or None if the click is for a question or unknown."""
    origin = click.origin
    values = {"account": origin.account, "chat": origin.chat, "message_id": origin.reply_to}
    statements = BUTTONS_OF_MESSAGE, PREVIEWS_OF_MESSAGE, NOTICES_OF_MESSAGE
    found = [row for one in statements for row in connection.execute(one, values).all()]
    known = [row for row in found if row.platform_id]
    if found and not known and connection.execute(IS_POSTED, values).first() is not None:
        return None
    for row in known or found:
        command = decode_commands(row.choices).get(click.text, "")
        if command:
            person = decode_sender(row.sender).key if row.sender else ""
            return PressedButton(command, row.turn_id, row.position, person)
    return None


def has_buttons(connection: Connection, button: PressedButton) -> bool:
    """Check whether the message with a button still has its buttons."""
    place = {"turn": button.turn, "position": button.index}
    return connection.execute(HAS_BUTTONS, place).first() is not None


def close_buttons(connection: Connection, button: PressedButton) -> None:
    """Remove all buttons of the message with a button."""
    connection.execute(CLOSE_BUTTONS, {"turn": button.turn, "position": button.index})
