"""The runtime against LangGraph's development server: the same calls of the SDK, compared by shape."""
