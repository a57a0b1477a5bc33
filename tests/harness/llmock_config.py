"""The part of a configuration that names a scripted provider's model."""

from __future__ import annotations

from llmock.pytest_plugin import LLMock


def llmock_section(llmock: LLMock, *, memory: bool = False) -> str:
    """Return the lines of config.yaml for a model of this provider, which then calls tools only as scripted;
    without titles and, if not `memory`, without memory, which would call it too.
    """
    llmock.tool_mode("off")
    section = f"""\
models:
  - {{name: m, use: "langchain_openai:ChatOpenAI", model: m, api_key: k, stream_usage: true,
     base_url: "{llmock.base_url()}"}}
title: {{enabled: false}}"""
    return section if memory else f"{section}\nmemory: {{enabled: false}}"
