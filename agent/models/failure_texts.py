"""Texts about failed model calls, for people."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum

from agent.shared.text import choose_text


class Category(StrEnum):
    """Category of a provider failure."""

    AUTH = "auth"
    PERMISSION = "permission"
    NOT_FOUND = "not_found"
    RATE_LIMIT = "rate_limit"
    QUOTA = "quota"
    OVERLOADED = "overloaded"
    TIMEOUT = "timeout"
    CONNECTION = "connection"
    CONTEXT = "context"
    CONTENT_FILTER = "content_filter"
    INVALID_REQUEST = "invalid_request"
    TRUNCATED = "truncated"
    MALFORMED = "malformed"
    EMPTY = "empty"
    LENGTH = "length"
    UNAVAILABLE = "unavailable"
    UNEXPECTED = "unexpected"


_ENGLISH: Mapping[Category, str] = {
    Category.AUTH: "its provider rejected the API key. Replace the key",
    Category.PERMISSION: "the API key has no access to this model",
    Category.NOT_FOUND: "its provider does not offer this model. Check the model's name",
    Category.RATE_LIMIT: "its provider's rate limit has been reached; try again later",
    Category.QUOTA: "the quota or credit with its provider is used up. Check the billing of that account",
    Category.OVERLOADED: "its provider is overloaded or unavailable",
    Category.TIMEOUT: "its provider did not respond in time",
    Category.CONNECTION: "its provider can't be reached, or the connection was lost",
    Category.CONTEXT: "the conversation is too long for it. The command `new` starts a new agent thread",
    Category.CONTENT_FILTER: "its provider's content filter stopped the answer",
    Category.INVALID_REQUEST: "its provider rejected the request",
    Category.TRUNCATED: "the answer was cut off",
    Category.MALFORMED: "its provider sent an unreadable response",
    Category.EMPTY: "it returned an empty answer",
    Category.LENGTH: "it reached its limit of tokens before it wrote anything. Raise max_tokens in the "
    "configuration",
    Category.UNAVAILABLE: "it can't be used here",
    Category.UNEXPECTED: "an unexpected error occurred; see the log",
}
_CHINESE: Mapping[Category, str] = {
    Category.AUTH: "密钥无效，请更换密钥",
    Category.PERMISSION: "密钥无权使用该模型",
    Category.NOT_FOUND: "服务商没有提供该模型，请检查模型名称",
    Category.RATE_LIMIT: "已达到服务商的限流上限，请稍后再试",
    Category.QUOTA: "在服务商处的额度或余额已用完，请检查那里的账单",
    Category.OVERLOADED: "服务繁忙或暂时不可用",
    Category.TIMEOUT: "服务商响应超时",
    Category.CONNECTION: "无法连接服务商，或连接中断",
    Category.CONTEXT: "对话太长，超出了模型的上下文长度，可用命令 `new` 开始新对话",
    Category.CONTENT_FILTER: "回答被服务商的内容过滤拦截",
    Category.INVALID_REQUEST: "请求被服务商拒绝",
    Category.TRUNCATED: "回答中断",
    Category.MALFORMED: "服务商的响应无法识别",
    Category.EMPTY: "回答为空",
    Category.LENGTH: "还没写出内容就达到了 Token 上限，请在配置中调高 max_tokens",
    Category.UNAVAILABLE: "该模型在这里不可用",
    Category.UNEXPECTED: "未知错误，详见日志",
}


def render_failure(category: Category, *, model: str, detail: str, locale: str) -> str:
    """Return the failure in one line; `detail` is appended in brackets."""
    if locale.startswith("zh"):
        return f"模型“{model}”调用失败：{_CHINESE[category]}{f'（{detail}）' if detail else ''}。"
    return f'The model "{model}" failed: {_ENGLISH[category]}{f" ({detail})" if detail else ""}.'


def render_wait(seconds: str, locale: str) -> str:
    """Return how long the provider requires to wait."""
    return f"{seconds} 秒后可重试" if locale.startswith("zh") else f"retry after {seconds} s"


_CUT_OFF: Mapping[str, str] = {
    "en": "(This answer reached the model's length limit. Ask me to continue for the rest.)",
    "zh": "（回答达到了模型的长度上限，后面的内容没有写完。如需继续，请让我接着写。）",
}


def cut_off_note(locale: str) -> str:
    """Return the note below an answer that stopped at the token limit."""
    return choose_text(_CUT_OFF, locale)
