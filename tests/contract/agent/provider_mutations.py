"""What keeps conversations acceptable to each provider, each with the mutation that removes it."""

from __future__ import annotations

from tests.harness.mutation import Mutation

CHAT, WIRE, CALLS = (f"agent/models/{name}.py" for name in ("compatible_chat", "wire_messages", "calls"))
SCHEMAS, MCP = "agent/core/tool_schemas.py", "agent/mcp/tool.py"
FOLDER = "tests/contract/agent"
LEAD, STRICT = f"{FOLDER}/test_lead_conversations.py", f"{FOLDER}/test_strict_providers.py"
TALK = f"{LEAD}::test_a_conversation"
TOOLS = f"{STRICT}::test_the_schemas_of_tools_are_accepted"
UNNAMED = (
    '    return {"role": role, "content": text, **extra} if text else None',
    '    return {**wire, "content": text, **extra, REPLAY: {}} if text else None',
)

PROVIDER_MUTATIONS = (
    Mutation(
        "Gemini",
        "calls carry the signature that Gemini gave them, or the placeholder",
        CHAT,
        "                if signature:",
        "                if False:",
        f"{TALK}[gemini]",
    ),
    Mutation(
        "Gemini",
        "results carry the name of their function",
        CHAT,
        '                wire["name"] = name',
        "                pass",
        f"{TALK}[gemini]",
    ),
    Mutation(
        "Gemini",
        "tools have the fields of Gemini's schemas only",
        CHAT,
        '                tool["function"] = reduce_function(function)',
        '                tool["function"] = dict(function)',
        f"{TALK}[gemini]",
    ),
    Mutation(
        "Gemini",
        "calls are joined to the answer right before them",
        CHAT,
        "        return join_answers(wires)",
        "        return wires",
        f"{STRICT}::test_calls_right_after_an_answer_are_accepted[gemini]",
    ),
    Mutation(
        "DeepSeek",
        "answers come back with their reasoning",
        CHAT,
        '        return {REASONING: str(source.additional_kwargs.get(REASONING) or "")}',
        "        return {}",
        f"{TALK}[deepseek]",
    ),
    Mutation(
        "DeepSeek",
        "a forced call turns thinking off",
        CHAT,
        '        if payload.get("tool_choice") not in (None, "auto", "none"):',
        "        if False:",
        f"{STRICT}::test_a_forced_call_turns_the_thinking_of_deepseek_off",
    ),
    Mutation(
        "Mistral",
        "ids of calls have nine letters and digits",
        CHAT,
        "        map_call_ids(wires, {one: shorten_id(one) for one in list_call_ids(wires)})",
        "        map_call_ids(wires, {})",
        f"{LEAD}::test_a_thread_is_switched_through_all_providers",
    ),
    Mutation("Mistral", "answers have no name for Mistral", WIRE, *UNNAMED, f"{TALK}[mistral]"),
    Mutation("Groq", "answers have no name for Groq", WIRE, *UNNAMED, f"{TALK}[groq]"),
    Mutation(
        "OpenRouter",
        "reasoning comes back",
        CHAT,
        '        return {"reasoning_details": join_fragments(fragments)} if fragments else {}',
        "        return {}",
        f"{TALK}[openrouter]",
    ),
    Mutation(
        "OpenRouter",
        "fragments of reasoning come back as the blocks that they were",
        CHAT,
        '        return {"reasoning_details": join_fragments(fragments)} if fragments else {}',
        '        return {"reasoning_details": fragments} if fragments else {}',
        f"{TALK}[openrouter]",
    ),
    Mutation(
        "Ollama",
        "the properties of a schema are objects",
        SCHEMAS,
        "_tidy_any({} if one is True else one)",
        "_tidy_any(one)",
        f"{TOOLS}[ollama]",
    ),
    Mutation(
        "Ollama",
        "Ollama gets the limit that it knows",
        CHAT,
        '            payload[self.limit] = payload.pop("max_completion_tokens")',
        "            pass",
        f"{STRICT}::test_the_limit_of_an_answer_has_the_name_that_the_provider_knows",
    ),
    Mutation(
        "OpenAI",
        "images in results follow in a message of their own",
        WIRE,
        '            tidy.append({"role": "tool", "tool_call_id": wire["tool_call_id"], "content": text})',
        "            tidy.append(wire)",
        f"{STRICT}::test_a_thread_with_content_of_anthropic_and_openai_is_continued[openai]",
    ),
    Mutation(
        "OpenAI",
        "arrays in schemas have items",
        SCHEMAS,
        '        tidy.setdefault("items", {})',
        "        pass",
        f"{TOOLS}[openai]",
    ),
    Mutation(
        "OpenAI",
        "the schemas of tools are reduced for responses too",
        SCHEMAS,
        '    return _tidy_function(tool) if tool.get("type") == "function" else dict(tool)',
        "    return dict(tool)",
        f"{TOOLS}[responses]",
    ),
    Mutation(
        "Anthropic",
        "the schemas of MCP tools are of draft 2020-12",
        MCP,
        "    properties = {name: tidy_schema(_mapping(value)) for name, value in properties.items()}\n",
        "",
        f"{TOOLS}[anthropic]",
    ),
    Mutation(
        "Anthropic",
        "a rejected conversation is sent again in a reduced form",
        CALLS,
        "            if error.category not in _REJECTED or messages is None:\n                raise",
        "            raise",
        f"{LEAD}::test_what_a_provider_forgot_is_sent_again_by_no_process[anthropic]",
    ),
    Mutation(
        "every provider",
        "the thread remembers what was rejected",
        CALLS,
        "                message.response_metadata[SIMPLIFIED_KEY] = True",
        "                pass",
        f"{LEAD}::test_what_a_provider_forgot_is_sent_again_by_no_process[responses]",
    ),
    Mutation(
        "every provider",
        "an answer that was cut off says so",
        CALLS,
        "                _mark_cut_off(message, cut_off_note(locale))\n",
        "",
        f"{TALK}[openai]",
    ),
    Mutation(
        "every provider",
        "a stop that meets a piece of the answer is not lost",
        CHAT,
        "                if task is not None and task.cancelling():",
        "                if False:",
        "tests/unit/agent/models/test_wire_messages.py::test_a_stop_that_meets_a_chunk_ends_the_answer",
    ),
    Mutation(
        "other servers",
        "a server at another address gets tidy messages",
        "agent/models/providers.py",
        '.hostname or "", _GATEWAY_CHAT)',
        '.hostname or "", spec.use)',
        f"{STRICT}::test_a_gateway_that_is_as_strict_as_groq_holds_a_conversation",
    ),
)
