"""Between adapters and dispatcher: messages are admitted, stored, and only then waited for."""
