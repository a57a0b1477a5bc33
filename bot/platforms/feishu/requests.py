"""API requests of the adapter, built with the SDK's models: path, verb, query and body.

`FeishuClient.send` makes them. `content`, `data`, `element` and `settings` are JSON as text, as the API wants
it.
"""

from __future__ import annotations

from collections.abc import Mapping

from bot.platforms.feishu import sdk
from bot.platforms.feishu.sdk import BaseRequest, HttpMethod

PAGE = 50
"""Maximum number of messages or people in a page."""
_AS_SENT = "user_card_content"
"""Cards as their apps sent them, instead of as text."""
_NAMED = "true"
"""With the names of apps; the SDK would write a bool as "True"."""


def fetch_token(app_id: str, app_secret: str) -> BaseRequest:
    """Request a tenant access token.

    The SDK's builders of this request share one body between all apps, so it is written here.
    """
    body = {"app_id": app_id, "app_secret": app_secret}
    return _build(HttpMethod.POST, "/open-apis/auth/v3/tenant_access_token/internal", body)


def find_endpoint(app_id: str, app_secret: str) -> BaseRequest:
    """Request the address of the long connection."""
    return _build(HttpMethod.POST, sdk.ws_const.GEN_ENDPOINT_URI, {"AppID": app_id, "AppSecret": app_secret})


def describe_bot() -> BaseRequest:
    """Request the bot's identity, for which the SDK has no model."""
    return _build(HttpMethod.GET, "/open-apis/bot/v3/info")


def describe_person(open_id: str) -> BaseRequest:
    """Request a person's name and departments, using open ids."""
    builder = sdk.GetUserRequest.builder().user_id(open_id)
    return builder.user_id_type("open_id").department_id_type("open_department_id").build()


def list_department(department: str, page: str = "") -> BaseRequest:
    """Request a page of the people directly in a department, using open ids (contact-v3
    user/find_by_department).
    """
    builder = sdk.FindByDepartmentUserRequest.builder().department_id(department).page_size(PAGE)
    builder = builder.user_id_type("open_id").department_id_type("open_department_id")
    return (builder.page_token(page) if page else builder).build()


def describe_chat(chat: str) -> BaseRequest:
    """Request the name of a chat and its number of people."""
    return sdk.GetChatRequest.builder().chat_id(chat).build()


def create_message(receiver: str, kind: str, content: str, uuid: str) -> BaseRequest:
    """Post to a chat, or to a person by open id."""
    body = sdk.CreateMessageRequestBody.builder().receive_id(receiver).msg_type(kind).content(content)
    id_type = "open_id" if receiver.startswith("ou_") else "chat_id"
    builder = sdk.CreateMessageRequest.builder().receive_id_type(id_type)
    return builder.request_body(body.uuid(uuid).build()).build()


def reply_to_message(message_id: str, kind: str, content: str, uuid: str, *, in_topic: bool) -> BaseRequest:
    """Post as a reply; `in_topic` keeps it in the message's topic, or opens one."""
    body = sdk.ReplyMessageRequestBody.builder().msg_type(kind).content(content).uuid(uuid)
    builder = sdk.ReplyMessageRequest.builder().message_id(message_id)
    return builder.request_body(body.reply_in_thread(in_topic).build()).build()


def replace_card_message(message_id: str, content: str) -> BaseRequest:
    """Replace the card of a message that contains its card."""
    body = sdk.PatchMessageRequestBody.builder().content(content).build()
    return sdk.PatchMessageRequest.builder().message_id(message_id).request_body(body).build()


def delete_message(message_id: str) -> BaseRequest:
    """Recall one of the bot's messages."""
    return sdk.DeleteMessageRequest.builder().message_id(message_id).build()


def add_reaction(message_id: str, emoji: str) -> BaseRequest:
    """React to a message; `emoji` is one of Feishu's types."""
    kind = sdk.Emoji.builder().emoji_type(emoji).build()
    body = sdk.CreateMessageReactionRequestBody.builder().reaction_type(kind).build()
    return sdk.CreateMessageReactionRequest.builder().message_id(message_id).request_body(body).build()


def remove_reaction(message_id: str, reaction: str) -> BaseRequest:
    """Remove a reaction of the app's own by its id."""
    builder = sdk.DeleteMessageReactionRequest.builder().message_id(message_id)
    return builder.reaction_id(reaction).build()


def read_message(message_id: str) -> BaseRequest:
    """Request a message and contained messages, with full cards and names of apps."""
    builder = sdk.GetMessageRequest.builder().message_id(message_id)
    return builder.card_msg_content_type(_AS_SENT).with_sender_name(_NAMED).build()


def list_topic(topic: str, page: str = "") -> BaseRequest:
    """Request a page of a topic, newest message first, like `read_message`.

    Feishu accepts no time bounds there.
    """
    builder = sdk.ListMessageRequest.builder().container_id_type("thread").container_id(topic)
    builder = builder.sort_type("ByCreateTimeDesc").page_size(PAGE)
    builder = builder.card_msg_content_type(_AS_SENT).with_sender_name(_NAMED)
    return (builder.page_token(page) if page else builder).build()


def download_resource(message_id: str, key: str, kind: str) -> BaseRequest:
    """Request a file of a message; `kind` is "image" or "file"."""
    return sdk.GetMessageResourceRequest.builder().message_id(message_id).file_key(key).type(kind).build()


def upload_image(data: bytes) -> BaseRequest:
    """Upload a picture for a message."""
    body = sdk.CreateImageRequestBody.builder().image_type("message").image(data).build()
    return sdk.CreateImageRequest.builder().request_body(body).build()


def upload_file(data: bytes, name: str, kind: str) -> BaseRequest:
    """Upload a file for a message; `kind` is one of Feishu's types, such as "pdf" or "stream"."""
    body = sdk.CreateFileRequestBody.builder().file_type(kind).file_name(name).file(data).build()
    return sdk.CreateFileRequest.builder().request_body(body).build()


def create_card(data: str) -> BaseRequest:
    """Create a card that messages can show."""
    body = sdk.CreateCardRequestBody.builder().type("card_json").data(data).build()
    return sdk.CreateCardRequest.builder().request_body(body).build()


def find_card(message_id: str) -> BaseRequest:
    """Request the id of the card that a message shows."""
    body = sdk.IdConvertCardRequestBody.builder().message_id(message_id).build()
    return sdk.IdConvertCardRequest.builder().request_body(body).build()


def replace_card(card_id: str, sequence: int, data: str) -> BaseRequest:
    """Replace a card as a whole."""
    card = sdk.Card.builder().type("card_json").data(data).build()
    body = sdk.UpdateCardRequestBody.builder().card(card).sequence(sequence).build()
    return sdk.UpdateCardRequest.builder().card_id(card_id).request_body(body).build()


def change_card_settings(card_id: str, sequence: int, settings: str) -> BaseRequest:
    """Change settings of a card, such as its streaming mode."""
    body = sdk.SettingsCardRequestBody.builder().settings(settings).sequence(sequence).build()
    return sdk.SettingsCardRequest.builder().card_id(card_id).request_body(body).build()


def replace_element(card_id: str, sequence: int, element_id: str, element: str) -> BaseRequest:
    """Replace one element of a card."""
    body = sdk.UpdateCardElementRequestBody.builder().element(element).sequence(sequence).build()
    builder = sdk.UpdateCardElementRequest.builder().card_id(card_id).element_id(element_id)
    return builder.request_body(body).build()


def write_element(card_id: str, sequence: int, element_id: str, content: str) -> BaseRequest:
    """Write an element's text; a streaming card displays it letter by letter."""
    body = sdk.ContentCardElementRequestBody.builder().content(content).sequence(sequence).build()
    builder = sdk.ContentCardElementRequest.builder().card_id(card_id).element_id(element_id)
    return builder.request_body(body).build()


def _build(verb: HttpMethod, path: str, body: Mapping[str, str] | None = None) -> BaseRequest:
    return BaseRequest.builder().http_method(verb).uri(path).body(body).build()
