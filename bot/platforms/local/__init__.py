"""Web console and terminal as platforms: chats that live in this service."""
