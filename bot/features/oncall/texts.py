"""Texts about people on call."""

ENGLISH = {
    "cmd_oncall": "Show who is on call",
    "more_oncall": "Shows who is on call, until when, and who is next. `/oncall SCHEDULE` shows one schedule.",
    "oncall_none": "There are no on-call schedules. An admin can add them under `oncall` in the configuration.",
    "oncall_unknown": "There is no on-call schedule {name}. Schedules: {names}.",
    "oncall_now": "{names} until {until}, then {next}",
    "oncall_last": "{names} until {until}; nobody is scheduled after that",
    "oncall_before_gap": "{names} until {until}; nobody is scheduled from then until {end}",
    "oncall_gap": "the schedule has a gap from {start} to {end}, between {before} and {after}. During the gap, admins are mentioned instead.",
    "oncall_unclear": "unknown. Until this is resolved, admins are mentioned instead.",
    "oncall_empty": "nobody: the group has no members. Admins are mentioned instead.",
    "oncall_problem": "The schedule can't be read: {problem}.",
    "oncall_age": " The information is {minutes} min old.",
    "oncall_unreadable": "Part of the schedule can't be read: {part}",
    "oncall_zone": "Times are in the time zone {zone}.",
}

CHINESE = {
    "cmd_oncall": "查看谁在值班",
    "more_oncall": "显示谁在值班、到什么时候、下一位是谁。`/oncall 值班表` 只显示一个值班表。",
    "oncall_none": "没有值班表。管理员可在配置的 `oncall` 中添加。",
    "oncall_unknown": "没有名为 {name} 的值班表。现有：{names}。",
    "oncall_now": "{names}，到 {until}，之后是 {next}",
    "oncall_last": "{names}，到 {until}，之后没有安排",
    "oncall_before_gap": "{names}，到 {until}，之后到 {end} 没有安排",
    "oncall_gap": "从 {start} 到 {end} 值班表是空的（前一位 {before}，后一位 {after}），这段时间改为提醒管理员。",
    "oncall_unclear": "未知。在此期间改为提醒管理员。",
    "oncall_empty": "无人：该组没有成员。改为提醒管理员。",
    "oncall_problem": "无法读取值班表：{problem}。",
    "oncall_age": "以上信息来自 {minutes} 分钟前。",
    "oncall_unreadable": "值班表的一部分无法读取：{part}",
    "oncall_zone": "时间以 {zone} 时区为准。",
}
