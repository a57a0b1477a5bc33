"""Likenesses of published skills: their front matter in shape and length, and their files.

The texts are made up; what counts is the form. It was taken from skills in these repositories:
anthropics/skills, obra/superpowers, bytedance/deer-flow, openai/skills, vercel-labs/agent-skills,
K-Dense-AI/claude-scientific-skills, ComposioHQ/awesome-claude-skills, wshobson/agents, trailofbits/skills,
anthropics/claude-plugins-official, openclaw/skills (commit 3a5f649f, 2,451 skills), and from skills for
hermes-agent and Claude Code, whose own keys are listed in their manuals.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

PYTHON, SHELL, NODE = "import sys\nprint(sys.argv)\n", "#!/bin/sh\necho ran\n", "#!/usr/bin/env node\n"
BINARY = b"\x00\x01\x00\x00" + bytes(range(256))
WHEN = "Use it when someone asks for one, sends one, or names a file of this kind"


@dataclass(frozen=True)
class PublishedSkill:
    """A skill as published. `name` is the one it gets here, `folder` that of its folder if it differs.

    `notes` are parts of the notes; without a name, the skill is refused, and they are parts of the reason.
    """

    name: str | None
    head: str
    folder: str = ""
    body: str = "# How\n\nRun `python scripts/run.py`, then tell what it printed.\n"
    files: Mapping[str, str | bytes] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    tools: tuple[str, ...] | None = None
    file: str = "SKILL.md"
    encoding: str = "utf-8"
    line_end: str = "\n"

    @property
    def place(self) -> str:
        return self.folder or self.name or "refused"

    def content(self) -> bytes:
        text = f"---\n{self.head.strip(chr(10))}\n---\n\n{self.body}" if self.head else self.body
        return text.replace("\n", self.line_end).encode(self.encoding)


def about(length: int, subject: str) -> str:
    """A description of about that length."""
    words = f"Makes, reads and repairs {subject}. {WHEN}, even without saying so. "
    return (words * (length // len(words) + 1))[:length].strip()


LETTERS = "letters (.docx files), with 'track changes'"
DECKS = 'decks — as input, \\"output\\", or both'
OFFICE = {
    "LICENSE.txt": "All rights reserved.\n",
    "scripts/__init__.py": "",
    "scripts/office/pack.py": PYTHON,
    "scripts/office/helpers/merge_runs.py": PYTHON,
    "scripts/office/schemas/ISO-IEC29500-4_2016/wml.xsd": "<schema/>\n" * 2_000,
    "scripts/templates/comments.xml": "<comments/>\n",
}
ANTHROPIC = (
    PublishedSkill(
        "letters",
        f'name: letters\ndescription: "{about(700, LETTERS)}"\n'
        "license: Proprietary. LICENSE.txt has complete terms",
        files=OFFICE,
    ),
    PublishedSkill(
        "slide-decks",
        f'name: slide-decks\ndescription: "{about(900, DECKS)}"\n'
        "license: Proprietary. LICENSE.txt has complete terms",
        files={**OFFICE, "editing.md": "# Editing\n", "scripts/thumbnail.py": PYTHON},
    ),
    PublishedSkill(
        "forms",
        f"name: forms\ndescription: {about(500, 'text/tables, watermarks and .pdf forms')}\n"
        "license: Proprietary. LICENSE.txt has complete terms",
        files={"FORMS.md": "# Forms\n", "reference.md": "# Reference\n", "scripts/fill_form.py": PYTHON},
    ),
    PublishedSkill(
        "make-skills",
        f"name: make-skills\ndescription: {about(320, 'skills')}",
        files={
            "agents/grader.md": "# Grader\n",
            "assets/review.html": "<html></html>\n",
            "eval-viewer/generate.py": PYTHON,
            "examples/small/SKILL.md": "---\nname: small\ndescription: An example.\n---\nDo it.\n",
        },
    ),
    PublishedSkill(
        "servers",
        f"name: servers\ndescription: {about(280, 'servers (Python or Node/TypeScript)')}\n"
        "license: Complete terms in LICENSE.txt",
        files={"reference/best_practices.md": "# x\n", "scripts/requirements.txt": "mcp>=1.1.0\n"},
    ),
    PublishedSkill(
        "posters",
        f"name: posters\ndescription: {about(280, 'posters')}\nlicense: Complete terms in LICENSE.txt",
        files={f"fonts/Font{number}-Bold.ttf": BINARY for number in range(54)},
    ),
    PublishedSkill(
        "api-help",
        "name: api-help\ndescription: |-\n  Reference for the API — ids, prices, `params`, caching.\n"
        f"  TRIGGER — read BEFORE the file: {about(900, 'requests')}\n"
        f"  SKIP only when: `grep -rE 'a|b'` hits; {about(400, 'others')}\nlicense: See LICENSE.txt",
        files={f"{kind}/api/README.md": "# x\n" for kind in ("curl", "go", "java", "php", "ruby", "csharp")},
        notes=("characters, more than the 1,024 that the format allows",),
    ),
    PublishedSkill(
        "web-pages",
        f"name: web-pages\ndescription: {about(330, 'pages (React, Tailwind CSS, shadcn/ui)')}\n"
        "license: Complete terms in LICENSE.txt",
        files={
            "scripts/init.sh": "#!/bin/bash\nset -e\n",
            "scripts/components.tar.gz": b"\x1f\x8b\x08\x00" + BINARY,
        },
    ),
    PublishedSkill(
        "template-skill",
        "name: template-skill\ndescription: Replace with what the skill does.",
        folder="template",
        body="# Insert instructions below\n",
        notes=("Its folder is named template",),
    ),
)
OTHERS = (
    PublishedSkill(
        "plan-first",
        'name: plan-first\ndescription: "You MUST use this before any work - it explores what is wanted."',
        files={"scripts/start-server.sh": SHELL, "scripts/server.cjs": NODE, "visual.md": "# x\n"},
    ),
    PublishedSkill(
        "several-agents",
        "name: several-agents\ndescription: Use when executing plans with independent tasks",
        # programs without a suffix
        files={"scripts/review-package": SHELL, "scripts/task-brief": SHELL, "reviewer-prompt.md": "# x\n"},
    ),
    PublishedSkill(
        "review-notes",
        "name: review-notes\ndescription: Answers review comments with gh; checks `gh auth` first.\n"
        "metadata:\n  short-description: Answer review comments",
        files={
            "agents/openai.yaml": "interface:\n  display_name: Notes\n",
            "scripts/fetch_comments.py": PYTHON,
        },
    ),
    PublishedSkill(
        "vendor-best-practices",
        f"name: vendor-best-practices\ndescription: {about(400, 'components')}\nlicense: MIT\n"
        'metadata:\n  author: vendor\n  version: "1.0.0"',
        folder="best-practices",
        files={f"rules/rule-{number}.md": "# x\n" for number in range(50)},
        notes=("Its folder is named best-practices",),
    ),
    PublishedSkill(
        "genes",
        f"name: genes\ndescription: {about(600, 'sequences')}\nallowed-tools: Read Write Edit Bash\n"
        "license: MIT license\nmetadata:\n    skill-author: Institute Inc.",
        files={"references/api.md": "# x\n", "assets/table.csv": "a,b\n"},
        tools=("read_file", "write_file", "str_replace", "bash"),
        notes=("Read is read_file, Write is write_file, Edit is str_replace, Bash is bash",),
    ),
    PublishedSkill(
        "matrices",
        "name: matrices\ndescription: Computes with matrices.\n"
        "license: For X (https://example.org/pricing) and Y "
        "(GNU General Public License version 3)\n"
        "compatibility: Requires either X or Y to be installed for testing.",
    ),
    PublishedSkill(
        "lab-notebook",
        "name: lab-notebook\ndescription: Reads the lab's notebook.\ncompatibility:\n"
        "  - Python 3.10+\n  - an account\n",
    ),
    PublishedSkill(
        "tickets-automation",
        'name: Tickets Automation\ndescription: "Automate tickets via MCP: create, search, close."\n'
        "requires:\n  mcp: [hub]",
        notes=('The name "Tickets Automation" is not allowed', "Keys without a meaning here: requires."),
    ),
    PublishedSkill(
        "survey-tool-automation",
        'name: survey-tool-automation\ndescription: "Automate surveys."\nrequires:\n  mcp: [hub]\n',
        folder="survey_tool-automation",
    ),
    PublishedSkill(
        "erp-request",
        "name: erp-request\ndescription: Reads the ERP with a person's token.\n"
        "license: Apache-2.0\nversion: '0.1'\n"
        "author: A firm\nallowed-tools:\n  - read_file\n  - bash\n  - firm-law\nrequired-secrets:\n"
        "  - ERP_TOKEN\n  - name: ERP_URL\n    optional: true\n",
        tools=("read_file", "bash", "firm-law"),
    ),
    PublishedSkill("no-tools", "name: no-tools\ndescription: Thinks only.\nallowed-tools: []", tools=()),
    PublishedSkill(
        "会议纪要",
        "name: 会议纪要\ndescription: >-\n  整理会议纪要。\n  触发词：“纪要”“待办”。\nlicense: Apache-2.0\n",
    ),
)
AGENTS = (
    PublishedSkill(
        "commit",
        "name: commit\ndescription: Commits what is staged\nargument-hint: [message]\nmodel: sonnet\n"
        "disable-model-invocation: true\n"
        "allowed-tools: Bash(git add:*), Bash(git status:*), Bash(git commit:*)",
        tools=("bash(git add:*)", "bash(git status:*)", "bash(git commit:*)"),
        notes=("argument-hint, model", "The agent does not choose it by itself"),
    ),
    PublishedSkill(
        "thorough-review",
        "name: thorough-review\ndescription: Reviews everything\n"
        "argument-hint: [what] [--verify]\neffort: max\n"
        'allowed-tools: Read, Grep, Glob, Bash(node -e "f(1)"), Task, AskUserQuestion, NotebookEdit, '
        "mcp__github__get_issue, mcp__jetbrains__*",
        tools=(
            *("read_file", "bash", "ls", 'bash(node -e "f(1)")', "task", "ask_clarification"),
            *("github_get_issue", "jetbrains_*"),
        ),
        notes=("read as plain text: argument-hint", "Tools without a counterpart here: NotebookEdit."),
    ),
    PublishedSkill(
        "explore",
        "name: explore\ndescription: Explores code in a context of its own\ncontext: fork\nagent: Explore\n"
        "user-invocable: false\nhooks:\n  PreToolUse:\n    - matcher: Bash\n      hooks:\n"
        "        - type: command\n"
        "          command: ./scripts/check.sh\npaths: ['src/**/*.ts']",
        files={"scripts/check.sh": SHELL},
        notes=("context, agent, user-invocable, hooks, paths",),
    ),
    PublishedSkill(
        "ship",
        "name: ship\n"
        'description: Lands finished work. Triggers on: "ship it", "fertig". Do NOT trigger when: '
        "still coding.\nallowed-tools: Bash(git *) Bash(npm run *) WebFetch(domain:example.org)",
        tools=("bash(git *)", "bash(npm run *)", "web_fetch(domain:example.org)"),
        notes=("read as plain text: description",),
    ),
    PublishedSkill(
        "wrapped",
        "name: wrapped\ndescription: Its description goes on\n"
        "in the next line: without being indented,\nand ends.\n"
        "tags: [a, b]",
    ),
    PublishedSkill(
        "shown-in-html",
        "name: shown-in-html\n"
        "description: <example>user: make one</example> `code` & more: *bold* #1\ncolor: blue",
        notes=("read as plain text: description",),
    ),
    PublishedSkill(
        "from-its-folder", "description: Its name is that of its folder", notes=("It has no name",)
    ),
    PublishedSkill(
        "music",
        "name: music\ndescription: Plays music\nhomepage: https://example.org\nuser-invocable: true\n"
        "metadata: "
        '{"openclaw":{"emoji":"🔊","requires":{"bins":["zf"],"env":["KEY"]},"os":["darwin","linux"]}}',
        files={"_meta.json": "{}\n"},
    ),
    PublishedSkill(
        "mailbox",
        'name: mailbox\ndescription: Reads mail\nmetadata:\n  {\n    "openclaw":\n      {\n'
        '        "emoji": "📧",\n        "install": [{ "id": "brew", "bins": ["mail"], },],\n      },\n  }',
    ),
    PublishedSkill(
        "opencortex",
        "name: OpenCortex\nhomepage: https://example.org\n"
        "description: 将记忆结构转变为知识系统。适用场景：(1) 设置；(2) 整理。",
        notes=('The name "OpenCortex" is not allowed',),
    ),
    PublishedSkill(
        "erp-projects",
        "name: erp-projects\nversion: 1.0.0\ndescription: Projects and tasks\nauthor: A / B\ntier: 5\n"
        "category: projects\ndatabase: ~/.erp/data.sqlite\nrequires:\n  - erp-setup\ntags: [erp, tasks]\n"
        "cron:\n  expression: '*/15 * * * *'\n  enabled: yes\n",
        notes=("tier, category, database, requires, tags, cron",),
    ),
    PublishedSkill(
        "layout",
        "name: layout\ndescription: 生成中文 PDF 的完整指南…\nversion: 2.0.0\ntriggers:\n- pdf\n- 生成 pdf\n"
        "allowed-tools:\n- terminal\n- read_file\n- write_file\n- patch\nmetadata:\n  hermes:\n"
        '    related_skills: ["a", "b"]\n    skill_type: reference\n    related_skills:\n    - a\n',
        tools=("bash", "read_file", "write_file", "patch"),
        notes=("metadata.hermes.related_skills",),
    ),
    PublishedSkill(
        "windows",
        "name: windows\ndescription: Written with Notepad\nallowed-tools: Read",
        encoding="utf-8-sig",
        line_end="\r\n",
        tools=("read_file",),
    ),
    PublishedSkill(
        "folded",
        "name: folded\ndescription: >\n  First line: with a colon.\n\n  Second paragraph # not a comment\n"
        "metadata:\n  author: {name: A, email: a@example.org}\n  nested:\n"
        "    - {deep: [1, 2.5, true, null]}\n"
        "author: {name: A, email: a@example.org}\nlicense: {type: MIT}\n",
        notes=("license is ignored: expected text.",),
    ),
    PublishedSkill(
        "tabs",
        "name: tabs\ndescription: Its metadata is indented with tabs\nmetadata:\n\tauthor: A\n\tversion: 1\n",
        notes=("metadata is ignored: expected a mapping.",),
    ),
    PublishedSkill("lower-case", "name: lower-case\ndescription: Its file is skill.md", file="skill.md"),
)
COLLECTED = (
    PublishedSkill(
        "agent-wallet",
        "name: Agent Wallet\ndescription: Pays small amounts.\nversion: 1.10\nmetadata: null\n"
        "created: 2025-01-31\nupdated_at: 2025-01-31T10:00:00Z\nenabled: yes\npriority: 0x10",
        folder="wallet",
        file="Skill.md",
        notes=(
            'The name "Agent Wallet" is not allowed',
            "created, updated_at, enabled, priority",
            "folder is named",
        ),
    ),
    PublishedSkill(
        "quick-send",
        "name: quick-send\ndescription: Sends text to a tool as it is\nuser-invocable: true\n"
        "command-dispatch: tool\ncommand-tool: send\ncommand-arg-mode: raw\nread_when:\n"
        "  - Somebody sends text\n  - 有人要发送消息",
        notes=("user-invocable, command-dispatch, command-tool, command-arg-mode, read_when",),
    ),
    PublishedSkill(
        "target",
        'name: "🎯 Target"\ndescription: "Goals, with a \\"quoted\\" word,\n  and more."\nemoji: "🎯"',
        notes=('The name "🎯 Target" is not allowed',),
    ),
    PublishedSkill(
        "browser",
        "name: browser\ndescription: Drives a browser\nallowed_tools:\n  - Bash(npx agent-browser:*)\n"
        "  - Bash(agent-browser:*)\n  - 'Read(./**)'\n",
        files={"templates/login.sh": SHELL, "references/snapshot-refs.md": "# Refs\n"},
        tools=("bash(npx agent-browser:*)", "bash(agent-browser:*)", "read_file(./**)"),
    ),
    PublishedSkill(
        "cached",
        "name: cached\ndescription: Was run before it was packed.\ncompatibility: " + "Python, " * 100,
        files={
            "scripts/tool.py": PYTHON,
            "scripts/__pycache__/tool.cpython-311.pyc": BINARY,
            "package.json": "{}\n",
            ".env.example": "KEY=\n",
            "assets/video.bin": BINARY * 300,
        },
        notes=("compatibility is longer than 500 characters",),
    ),
    PublishedSkill(
        "rights",
        "name: rights\ndescription: >-\n  Says what it needs.\npermissions:\n  network: [api.example.org]\n"
        "env:\n  - {name: KEY, required: true}\ninstall:\n  - {kind: brew, formula: x}\nmodels: [a, b]\n"
        "tools: Read, Bash\nhooks: {PreToolUse: [{matcher: Bash, hooks: [{command: ./x.sh}]}]}",
        notes=("permissions, env, install, models, tools, hooks",),
    ),
    PublishedSkill(
        "three-fences",
        "name: three-fences\ndescription: Its text has rules of its own",
        body="# One\n\n---\n\n# Two\n\n---\nname: not-this\n---\n",
    ),
    PublishedSkill(
        "aliases",
        "name: aliases\ndescription: &about Uses an anchor\nsummary: *about\ntitle: *about\n"
        "disableModelInvocation: false\nargumentHint: '<file> [--force]'",
        notes=("summary, title, argumentHint",),
    ),
)
REFUSED = (
    PublishedSkill(
        None, "", body="# A title\n\nNo front matter.\n", notes=("does not start with front matter",)
    ),
    PublishedSkill(None, "name: silent", notes=("description: is missing",)),
    PublishedSkill(None, 'name: "???"\ndescription: x', notes=("expected lowercase letters",)),
    PublishedSkill(None, "- a\n- b", notes=("expected a mapping",)),
    PublishedSkill(
        None,
        "",
        body="---\nname: indented\ndescription: |\n  Long text.\n  ---\n  # Title\n",
        notes=("its front matter does not end",),
    ),
    PublishedSkill(
        None,
        'name: odd\ndescription: x\nmetadata: {"requires": {"bins": ["bc"], ["touch"]}}',
        notes=("metadata.requires: expected a plain key",),
    ),
    PublishedSkill(None, "name: bell\ndescription: a\x07b", notes=("a character that YAML does not allow",)),
)
PUBLISHED = (*ANTHROPIC, *OTHERS, *AGENTS, *COLLECTED, *REFUSED)
