"""From conversations to threads, from runs to replies."""
