"""Slash commands: one registry for parsing, permission, help, native menus and documentation."""
