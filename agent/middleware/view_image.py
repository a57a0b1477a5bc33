"""Show a model the images that a tool opened for it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from langchain.agents.middleware import AgentMiddleware, ExtendedModelResponse
from langchain_core.messages import HumanMessage
from langchain_core.tools import BaseTool

from agent.core.state import ThreadState, ViewedImage
from agent.middleware.model_response import Handler, Request, Response, with_update
from agent.tools.images import view_image


class ViewImageMiddleware(AgentMiddleware[Any, Any]):
    """Puts `viewed_images` into the next model call, then clears them; brings the tool that opens them.

    For models with vision. Images are shown once and never stored as a message, since an image in the history
    is paid for with every call. Hook: `wrap_model_call`; they are cleared together with the answer, so a
    failed call shows them again.
    """

    state_schema = ThreadState

    def __init__(self, *, tools: Sequence[BaseTool] = (view_image,)) -> None:
        super().__init__()
        self.tools = list(tools)

    async def awrap_model_call(
        self, request: Request, handler: Handler
    ) -> Response | ExtendedModelResponse[Any]:
        """Call the model with the images at the end."""
        state: Mapping[str, Any] = request.state
        images: Mapping[str, ViewedImage] = state.get("viewed_images") or {}
        if not images:
            return await handler(request)
        response = await handler(request.override(messages=[*request.messages, render_images(images)]))
        return with_update(response, viewed_images={})


def render_images(images: Mapping[str, ViewedImage]) -> HumanMessage:
    """Return a message with the images, each after its path."""
    blocks: list[str | dict[Any, Any]] = [{"type": "text", "text": "The images that you opened:"}]
    for path, image in images.items():
        blocks.append({"type": "text", "text": path})
        blocks.append({"type": "image", "base64": image["base64"], "mime_type": image["mime_type"]})
    return HumanMessage(content=blocks, additional_kwargs={"lc_source": "view_image"})
