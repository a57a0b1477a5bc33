"""Events from other systems, which become incidents in chats."""
