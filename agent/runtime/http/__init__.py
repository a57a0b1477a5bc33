"""HTTP routes of the LangGraph API."""
