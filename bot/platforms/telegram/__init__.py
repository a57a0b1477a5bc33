"""Telegram: long polling in, posts, edits, drafts and files out. The SDK is loaded by `adapter` only."""
