"""What goes wrong with an account or a model, in Chinese by its English wording. Fields in braces are any text."""

from collections.abc import Mapping

PROBLEMS: Mapping[str, str] = {
    "{platform} did not respond within {seconds} s; check the network and try again": "{platform} 在 {seconds} 秒内没有响应；请检查网络和地址，然后重试",
    "{problem} (base_url is {url}); check the network and try again": "{problem}（API 地址：{url}）；请检查网络和地址，然后重试",
    "{problem}; check the network and try again": "{problem}；请检查网络，然后重试",
    "expected text without spaces or line ends; copy the value again": "不能包含空格或换行；请重新复制",
    "no connection to {platform} for {seconds} s: {reason}": "与 {platform} 的连接已中断 {seconds} 秒：{reason}",
    "no connection to {platform}: {reason}": "与 {platform} 的连接已中断：{reason}",
    "connecting to {platform} again: {reason}": "正在重新连接 {platform}：{reason}",
    "{platform} asks to wait {seconds} s": "{platform} 要求等待 {seconds} 秒",
    "for {seconds} s more": "还需 {seconds} 秒",
    "internal error ({kind})": "内部错误（{kind}）",
    "channels.{name} already exists; choose another name with --name": "账号 {name} 已存在；请换一个名称",
    "the model {name} already exists; choose another name": "模型 {name} 已存在；请换一个名称",
    "{place} did not answer within {seconds} s; check the address, or try again later": "{place} 在 {seconds} 秒内没有响应；请检查地址，或稍后重试",
    "{place} can't be reached; check the address and the network": "无法连接 {place}；请检查地址和网络",
    "the address is invalid; expected one such as https://host/v1": "地址无效；应类似 https://host/v1",
    "{place} closed the connection before its answer was complete; try again later": "{place} 没有返回完整的响应就断开了连接；请稍后重试",
    "the list of {place} is too long; enter the model's name": "{place} 的模型列表太长；请直接输入模型名称",
    "{place} refused the key; copy it again, or create another one": "{place} 拒绝了该密钥；请重新复制，或创建新的密钥",
    "{place} has no list of models at this address; most addresses end in /v1": "{place} 的这个地址没有模型列表；大多数地址以 /v1 结尾",
    "{place} limits how often it may be called; try again later": "{place} 限制了调用频率；请稍后重试",
    "{place} returned status {status}; check the address": "{place} 返回了状态 {status}；请检查地址",
    "{place} returned no list of models; check the address, which often ends in /v1": "{place} 没有返回模型列表；请检查地址，它通常以 /v1 结尾",
    "the check did not finish within {seconds} s; try again later": "检查没有在 {seconds} 秒内完成；请稍后重试",
    "the check failed; see `roebot doctor`": "检查失败；请运行 `roebot doctor` 查看原因",
}
