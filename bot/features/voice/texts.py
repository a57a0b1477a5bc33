"""Texts about transcripts of voice messages."""

ENGLISH = {
    "transcript_missing": "[No transcript of the voice message {name}: {reason}]",
    "transcript_unavailable": "this agent server doesn't support transcription",
    "transcript_late": "transcription took too long",
}

CHINESE = {
    "transcript_missing": "[语音消息 {name} 没有转写文本：{reason}]",
    "transcript_unavailable": "此智能体服务器不支持语音转写",
    "transcript_late": "语音转写耗时过长",
}
