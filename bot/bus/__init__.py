"""Path of messages from adapters to the dispatcher: admitted, stored, then acknowledged."""
