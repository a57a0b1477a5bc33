"""Path of messages from adapters to the dispatcher: admit, store, then acknowledge."""
