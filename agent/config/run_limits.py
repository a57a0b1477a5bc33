"""Configuration of run limits, and of model prices."""

from __future__ import annotations

from collections.abc import Mapping

from pydantic import Field

from agent.config.types import Count, Int, Number, Section, Text
from agent.core.run_meter import CALLS_OF_ONE_TOOL, TOOL_CALLS, WARN_AT, Price, RunLimits


class ModelPrice(Section):
    """Prices of a model per million tokens, for the cost in `/usage` and for `run_limits.cost`."""

    input: Number = Field(ge=0, description="Price of a million input tokens.")
    output: Number = Field(ge=0, description="Price of a million output tokens.")
    cached_input: Number | None = Field(
        None, ge=0, description="Price of a million input tokens read from the cache; null: that of input."
    )

    cache_write: Number | None = Field(
        None, ge=0, description="Price of a million input tokens written to the cache; null: that of input."
    )

    def to_price(self) -> Price:
        """Return the prices for counting."""
        return Price(self.input, self.output, self.cached_input, self.cache_write)


class RunLimitsConfig(Section):
    """Limits of a run, including its subagents. The model is warned first; at the limit it gives its
    answer.
    """

    tool_calls: Int = Field(TOOL_CALLS, ge=0, description="Maximum number of tool calls; 0: no limit.")
    calls_of_one_tool: Int = Field(
        CALLS_OF_ONE_TOOL, ge=0, description="Maximum number of calls of the same tool; 0: no limit."
    )
    tools: Mapping[str, Count] = Field(
        default_factory=dict, description="Maximum number of calls of single tools, by name."
    )
    tokens: Int = Field(0, ge=0, description="Maximum number of tokens, input and output; 0: no limit.")
    cost: Number = Field(
        0.0, ge=0, description="Maximum cost, in the currency of the prices of models; 0: no limit."
    )
    currency: Text = Field("USD", description="Name of that currency, for texts.")
    warn_at: Number = Field(
        WARN_AT, gt=0, le=1, description="Fraction of a limit from which on the model is warned."
    )

    def to_limits(self, prices: Mapping[str, ModelPrice]) -> RunLimits:
        """Return the limits for counting; `prices` are by model name."""
        return RunLimits(
            tool_calls=self.tool_calls,
            calls_of_one_tool=self.calls_of_one_tool,
            single_tools=dict(self.tools),
            tokens=self.tokens,
            cost=self.cost,
            currency=self.currency,
            prices={name: price.to_price() for name, price in prices.items()},
            warn_at=self.warn_at,
        )
