"""An own server of the LangGraph API over langgraph and SQLite."""
