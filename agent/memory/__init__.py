"""Long-term memory of people and group chats, across agent threads."""
