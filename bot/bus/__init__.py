"""The way from adapters to the dispatcher: messages are admitted, stored, then acknowledged."""
