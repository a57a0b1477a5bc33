"""Texts around a server's questions, in the person's language."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class FormWords:
    """The texts; those with braces are templates. No label reads like an approval decision."""

    asks: str
    go_on: str
    decline: str
    skip: str
    yes: str
    no: str
    choose: str
    several: str
    optional: str
    default: str
    number: str
    a_number: str
    length: str
    formatted: str
    link: str
    done: str
    sign_in: str


ENGLISH = FormWords(
    asks="The MCP server {server} asks: {message}",
    go_on="Continue",
    decline="Don't answer",
    skip="Skip",
    yes="Yes",
    no="No",
    choose="Choose from: {labels}",
    several="You can name several, separated by commas.",
    optional="Optional.",
    default="Default: {value}",
    number="Expected {least} to {most}.",
    a_number="Expected a number.",
    length="Expected {least} to {most} characters.",
    formatted="Expected the format {format}.",
    link="Open this link: {url}",
    done="Done",
    sign_in="Sign in to the MCP server {server} with your browser. The link is for you alone.",
)
CHINESE = FormWords(
    asks="MCP 服务器 {server} 询问：{message}",
    go_on="继续",
    decline="不回答",
    skip="跳过",
    yes="是",
    no="否",
    choose="请选择：{labels}",
    several="可以填写多个，用逗号分隔。",
    optional="可选。",
    default="默认值：{value}",
    number="应在 {least} 到 {most} 之间。",
    a_number="请输入数字。",
    length="长度应为 {least} 到 {most} 个字符。",
    formatted="格式应为 {format}。",
    link="请打开此链接：{url}",
    done="已完成",
    sign_in="请用浏览器登录 MCP 服务器 {server}。此链接仅供你本人使用。",
)


def words_for(locale: str | None) -> FormWords:
    """Return the texts for a locale; English for any other."""
    return CHINESE if (locale or "").startswith("zh") else ENGLISH
