"""A server of the LangGraph API, built on langgraph and SQLite."""
