"""Events of other systems, which become incidents in chats."""
