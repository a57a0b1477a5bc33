"""Simplified Chinese texts of the guided setup in the terminal."""

from collections.abc import Mapping

CHINESE_SETUP: Mapping[str, str] = {
    # Prompts
    "setup_prompt": "{question}：",
    "setup_default_prompt": "{question} [{default}]：",
    "setup_yes_or_no": "请输入 y 或 n",
    "setup_ended": "输入已结束，但仍有问题未回答；未写入任何内容",
    "setup_stopped": "已停止；未写入任何内容",
    # The platform
    "setup_platform": "平台（{names}）：",
    "setup_not_a_platform": "无法配置 {platform}；请从 {names} 中选择",
    "setup_bad_name": "{name} 不是有效的名称；请使用小写字母、数字、- 和 _，并以字母开头",
    "setup_heading": "{title}：请先在平台上完成以下步骤，再回答后面的问题",
    "setup_manifest": "如果链接无法使用，可用 `roebot manifest {platform}` 输出清单并手动粘贴。",
    "setup_create": "是否用 {title} 扫描二维码创建应用？机器人所需的权限和事件会一并配置好。",
    "setup_scan": "请用手机上的 {title} 扫描此二维码，或在浏览器中打开链接，然后确认。{minutes:.0f} 分钟内有效。",
    "setup_open": "请在浏览器中打开以下链接并确认。{minutes:.0f} 分钟内有效。",
    "setup_created": "应用已创建。",
    "setup_creator": "所有者是确认创建的人：{person}",
    "setup_connecting": "正在连接平台…",
    "setup_try_again": "要重试吗？",
    "setup_gave_up": "{problem}；未写入任何内容。请解决问题后重新开始",
    "setup_identity": "机器人是 {identity}。",
    "setup_invite": "请先添加机器人，这样才能给它发消息：",
    "setup_from_environment": "{key}：使用 ${variable}",
    # The owner
    "setup_later_steps": "以下步骤要在机器人连接后才能完成。请在按下回车之后，或在服务运行期间完成。",
    "setup_owner": "谁是机器人的所有者？\n\n  回车   现在给 {identity} 发一条私信，以确认你的身份\n  ID     {person}（如果你知道自己的）\n  later  以后给机器人发消息时，它会回复一个授权码",
    "setup_owner_prompt": "按回车，或输入你的 ID 或 later：",
    "setup_not_a_person": "这不是{person}。如果不知道，请输入 later。",
    "setup_waiting": "正在等待发给 {identity} 的消息…",
    "setup_no_message": "{minutes:.0f} 分钟内没有收到消息。\n以后给机器人发消息时，它会回复一个授权码。",
    "setup_wrote": "{who} 发来：{text}\n这是你吗？",
    "setup_somebody": "某人",
    "setup_wait_again": "继续等待下一条消息吗？",
    # The model
    "setup_models": "尚未配置模型。请选择用来回答的模型：",
    "setup_model_number": "编号（回车选 1）：",
    "setup_model_range": "请输入 1 到 {last} 之间的编号。",
    "setup_model_needs_key": "{label}（需要 API 密钥）",
    "setup_model_from": "{label}，来自 ${variable}",
    "setup_api_key": "API 密钥（{variable}）：",
    "setup_model_testing": "正在测试模型…",
    "setup_model_anyway": "仍要使用吗？",
    # The end
    "setup_added": "已将账号 {name} 写入 {file}。",
    "setup_private": "其中包含密钥，因此只有你能读取该文件。",
    "setup_model": "模型：{label}",
    "setup_other_file": "{url} 的服务使用的是 {file}。请先停止它，再用本文件启动。",
    "setup_reload": "{url} 的服务会在几秒内应用更改。",
    "setup_next": "接下来：",
    "setup_start": "启动服务：{command}",
    "setup_finish_steps": "服务运行期间，在平台上完成上面的第 {first} 到 {last} 步。",
    "setup_pair": "机器人会回复一个授权码。在网页端或 `{chat}` 中发送 {pair}，即可成为所有者。",
    "setup_trouble": "如果遇到问题，请运行：{command}",
    "setup_start_now": "现在启动服务吗？",
    # The service
    "setup_install": "是否安装为 systemd 用户服务？它会在你登录时启动，并由 systemd 保持运行。",
    "setup_installed": "服务正在运行。查看日志：{log}\n退出登录后服务会停止；如需保持运行，请执行：{linger}\n如需卸载，请执行：{undo}",
    "setup_variables": "它从 {file} 读取以下变量，该文件只有你能读取：{names}",
    "setup_not_installed": "服务未安装：{problem}",
    # `roebot chat`
    "chat_greeting": "输入消息即可开始。`/help` 查看命令，Ctrl-C 停止回答，Ctrl-D 退出。",
    # `roebot manifest`
    "setup_not_needed": "无需配置。",
    "setup_and": " 和 ",
    "setup_roebot_step": "运行 `roebot init {platform}`。它会询问 {keys}，测试账号并写入 config.yaml。如果想手动配置，请在环境变量中设置 {variables}，在 config.yaml 中加入 `channels: {entry}`，然后启动服务。",
    "setup_last_step": "{write}机器人还不认识你，会回复一个授权码。在网页端或 `roebot chat` 中发送 {pair}，即可成为所有者。",
}
