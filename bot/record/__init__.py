"""The chat record: what people write in chats that chose to keep it."""
