"""One Markdown tree and one renderer per platform; pure functions without I/O."""
