"""Private parts of libraries stand on one page, and are what the code expects."""

from __future__ import annotations

import ast
import asyncio
import importlib
import importlib.util
import inspect
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from agent.core.telemetry import trace_on_demand

PAGE = Path("docs/internals/private-parts.md")
SOURCES = ("bot", "agent", "packages/roebot-testing/src", "packages/roebot-provisioner/src")
PUBLIC = {"_agenerate", "_asdict", "_exit", "_mapping", "_replace"}
"""Names with an underscore that are documented for callers, or for subclasses."""

SIGNATURES = {
    "bot.platforms.discord.sdk:discord.Client._get_state": "self, **options",
    "httpx:AsyncClient._init_transport": "self, verify, cert, trust_env, http1, http2, limits, transport",
    "httpx:AsyncClient._init_proxy_transport": "self, proxy, verify, cert, trust_env, http1, http2, limits",
    "langchain_core.language_models:BaseChatModel._astream": "self, messages, stop, run_manager, **kwargs",
    "langchain_core.language_models:BaseChatModel._stream": "self, messages, stop, run_manager, **kwargs",
    "langchain_openai:ChatOpenAI._astream": "self, *args, **kwargs",
    "langchain_openai.chat_models.base:BaseChatOpenAI._get_request_payload": "self, input_, stop, **kwargs",
    "langchain_openai.chat_models.base:BaseChatOpenAI._convert_chunk_to_generation_chunk": (
        "self, chunk, default_chunk_class, base_generation_info"
    ),
    "langchain_openai.chat_models.base:BaseChatOpenAI._create_chat_result": "self, response, generation_info",
    "langchain_openai.chat_models.base:BaseChatOpenAI._use_responses_api": "self, payload",
    "langgraph.checkpoint.postgres.aio:AsyncPostgresSaver._cursor": "self, pipeline",
    "langgraph.store.sqlite.base:BaseSqliteStore._get_filter_condition": "self, key, op, value",
    "mcp.client.auth:OAuthClientProvider._initialize": "self",
    "mcp.client.auth:OAuthClientProvider._perform_authorization_code_grant": "self",
    "mcp.client.auth:OAuthClientProvider._handle_token_response": "self, response",
    "mcp.client.auth:OAuthClientProvider._handle_refresh_response": "self, response",
    "mcp.client.session:ClientSession._received_request": "self, responder",
    "uvicorn.protocols.http.httptools_impl:HttpToolsProtocol.data_received": "self, data",
    "uvicorn.protocols.http.httptools_impl:HttpToolsProtocol.on_message_begin": "self",
    "uvicorn.protocols.http.httptools_impl:HttpToolsProtocol.on_headers_complete": "self",
    "uvicorn.protocols.http.httptools_impl:HttpToolsProtocol.on_body": "self, body",
    "uvicorn.protocols.http.httptools_impl:HttpToolsProtocol.on_message_complete": "self",
    "uvicorn.protocols.http.httptools_impl:HttpToolsProtocol.on_response_complete": "self",
    "uvicorn.protocols.http.httptools_impl:HttpToolsProtocol.send_400_response": "self, msg",
}


def foreign_attributes(text: str) -> Iterator[str]:
    """Yield the private attributes that a module reads from objects of other classes."""
    nodes = list(ast.walk(ast.parse(text)))
    own = {node.attr for node in nodes if isinstance(node, ast.Attribute) and is_self(node.value)}
    own |= {
        node.name for node in nodes if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)
    }
    for node in nodes:
        if isinstance(node, ast.Attribute) and re.match(r"_[a-z]", node.attr) and not is_self(node.value):
            inherited = isinstance(node.value, ast.Call) and ast.unparse(node.value).startswith("super(")
            if inherited or node.attr not in own:
                yield node.attr


def is_self(node: ast.AST) -> bool:
    """Return whether an expression is the object that a method belongs to."""
    return isinstance(node, ast.Name) and node.id in ("self", "cls")


def test_every_private_part_is_on_the_page() -> None:
    missing = []
    rows = [line for line in PAGE.read_text().splitlines() if line.startswith("| ")]
    for path in (path for source in SOURCES for path in sorted(Path(source).rglob("*.py"))):
        used = set(foreign_attributes(path.read_text())) - PUBLIC
        listed = {name for row in rows if f"`{path}`" in row for name in re.findall(r"\b_\w+", row)}
        missing += [f"{path}: {name}" for name in sorted(used - listed)]
    assert missing == []


def test_the_page_names_what_is_used() -> None:
    wrong = []
    for row in PAGE.read_text().splitlines():
        if found := re.search(r"^\| [^|]+ \| (?P<parts>[^|]+) \| `(?P<file>[^`]+)` \|", row):
            text = Path(found["file"]).read_text()
            wrong += [name for name in re.findall(r"\b_\w+", found["parts"]) if name not in text]
    assert wrong == []


@pytest.mark.parametrize("path", SIGNATURES)
def test_a_method_has_the_parameters_that_it_is_called_with(path: str) -> None:
    module, _, names = path.partition(":")
    part: Any = importlib.import_module(module)
    for name in names.split("."):
        part = getattr(part, name)
    parameters = inspect.signature(part).parameters.values()
    stars = {inspect.Parameter.VAR_POSITIONAL: "*", inspect.Parameter.VAR_KEYWORD: "**"}
    assert ", ".join(stars.get(one.kind, "") + one.name for one in parameters) == SIGNATURES[path]


def test_discord_names_its_decompressor() -> None:
    from bot.platforms.discord.sdk import discord

    assert discord.utils._ZSTD_SOURCE in (None, "zstandard", "compression.zstd", "backports.zstd")


def test_auth_objects_have_their_handlers() -> None:
    from langgraph_sdk import Auth

    async def handler(ctx: Any, value: Any) -> bool:
        return True

    auth: Any = Auth()
    auth.authenticate(handler)
    auth.on(handler)
    auth.on.threads(handler)
    auth.on.store.put(handler)
    auth.on(resources="threads", actions="create")(handler)
    assert auth._authenticate_handler is handler
    assert auth._global_handlers == [handler]
    keys = {("threads", "*"), ("store", "put"), ("threads", "create")}
    assert auth._handlers == {key: [handler] for key in keys}


def test_telegram_has_the_type_of_its_time_limits() -> None:
    assert importlib.import_module("telegram._utils.types").ODVInput is not None


def test_slack_has_a_handler_of_errors_that_can_be_replaced() -> None:
    from slack_bolt.async_app import AsyncApp

    app = AsyncApp(signing_secret="unused", token="xoxb-unused")
    assert inspect.iscoroutinefunction(app._async_middleware_error_handler.handle)


def test_feishu_has_the_modules_that_are_loaded_alone() -> None:
    from bot.platforms.feishu import sdk

    missing = [f"{package}.{module}" for package, (module, _) in sdk._OWN_NAMES.items()]
    assert [name for name in (*sdk._PACKAGES, *missing) if importlib.util.find_spec(name) is None] == []


def test_uvicorn_has_the_state_of_a_connection() -> None:
    import uvicorn
    from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol
    from uvicorn.server import ServerState

    async def application(_scope: object, _receive: object, _send: object) -> None: ...

    async def create() -> set[str]:
        config = uvicorn.Config(application, lifespan="off")
        config.load()
        protocol = HttpToolsProtocol(config, ServerState(), {})
        protocol.on_message_begin()
        return set(vars(protocol))

    names = {"config", "connections", "pipeline", "headers", "url", "transport", "loop"}
    assert names - asyncio.run(create()) == set()


def test_pptx_has_the_element_of_a_paragraph() -> None:
    from pptx import Presentation
    from pptx.util import Inches

    deck: Any = Presentation()
    slide = deck.slides.add_slide(deck.slide_layouts[6])
    frame = slide.shapes.add_textbox(*[Inches(1)] * 4).text_frame
    frame.text = "A paragraph."
    assert [part.tag.rpartition("}")[2] for part in frame.paragraphs[0]._p] == ["r"]


def test_sqlalchemy_has_the_converters_of_a_compiled_statement() -> None:
    from sqlalchemy import JSON, Column, MetaData, Table, insert
    from sqlalchemy.dialects import sqlite

    table = Table("t", MetaData(), Column("c", JSON))
    converters = insert(table).compile(dialect=sqlite.dialect())._bind_processors
    assert converters["c"]([1]) == "[1]"


def test_the_clients_of_models_have_their_http_client() -> None:
    from langchain_anthropic import ChatAnthropic
    from langchain_openai import ChatOpenAI

    openai = ChatOpenAI(model="m", api_key="unused")
    anthropic = ChatAnthropic(model_name="m", api_key="unused")
    assert type(openai.root_async_client._client).__module__ == "langchain_openai.chat_models._client_utils"
    assert openai.async_client._client is openai.root_async_client
    assert type(anthropic._async_client._client).__module__ == "langchain_anthropic._client_utils"
    assert "response" in anthropic._async_client._client.event_hooks


def test_langchain_wraps_hooks_by_a_name_of_its_factory() -> None:
    import langsmith
    from langchain.agents import factory

    assert vars(factory)["traceable"] in (langsmith.traceable, trace_on_demand)
    assert "traceable" in factory.create_agent.__code__.co_names + tuple(
        name
        for code in factory.create_agent.__code__.co_consts
        if inspect.iscode(code)
        for name in code.co_names
    )


def test_langgraph_has_the_keys_of_its_configs_and_checkpoints() -> None:
    from langgraph._internal import _constants

    assert _constants.CONFIG_KEY_CHECKPOINTER == "__pregel_checkpointer"
    assert _constants.CONFIG_KEY_RESUMING == "__pregel_resuming"
    assert (_constants.TASKS, _constants.RESUME) == ("__pregel_tasks", "__resume__")


async def test_an_mcp_session_has_its_request_id_and_tasks() -> None:
    import anyio
    from mcp.client.session import ClientSession

    outgoing, incoming = anyio.create_memory_object_stream[Any](1)
    async with outgoing, incoming, ClientSession(incoming, outgoing) as session:
        assert session._request_id == 0
        assert callable(session._task_group.start_soon)


def test_openpyxl_knows_the_part_of_a_sheet(tmp_path: Path) -> None:
    import openpyxl

    openpyxl.Workbook().save(tmp_path / "a.xlsx")
    book = openpyxl.load_workbook(tmp_path / "a.xlsx", read_only=True)
    assert book.worksheets[0]._worksheet_path == "xl/worksheets/sheet1.xml"
    book.close()


async def test_the_loop_has_a_queue_of_what_is_ready() -> None:
    loop: Any = asyncio.get_running_loop()
    loop.call_soon(int)
    assert len(loop._ready) == 1
