"""One Markdown tree and one renderer for each platform; pure functions, no I/O."""
