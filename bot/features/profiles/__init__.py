"""Settings of chats, which admins change in the chat (`/channel`), and the origin of each (`/why`)."""
