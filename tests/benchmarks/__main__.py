"""Every benchmark, one after the other: `make bench`. Each compares with a floor or a peer of the same run.

Names after the command choose some: `python -m tests.benchmarks load`.
"""

from __future__ import annotations

import subprocess
import sys

PARTS = {
    "runtime": "The agent runtime against the same graphs in process",
    "middleware": "Each middleware of the agent, and the whole chain, against the bare agent",
    "skills": "Discovery of 500 skills and their part of the prompt, against reading and joining the same",
    "memory": "What is remembered: put before the model, queued, read, against doing without",
    "subagents": "Work handed to a subagent, against the same work by a plain agent",
    "prompt_tokens": "Tokens of each part of a request: prompt, tools, skills, and of whole tasks",
    "costs": "Tokens and money of 200 turns: with summaries and caches, against sending everything",
    "mixed_load": "The runtime under 20,000 runs and ten minutes of mixed load: failures and memory",
    "load": "The whole service against a bare relay",
    "events": "Requests of Alertmanager while chats stream, a burst of alerts, and the cost of many events",
    "conversations": "A turn among 100,000 known conversations, against one among ten",
    "turn_cpu": "CPU of a turn by number of chats, against a direct call and nanobot; the lag of finals",
    "agent": "CPU of a turn in the agent, against an earlier state, a plain graph and a direct call",
    "staleness": "A minute's reply on every platform, against the best schedule of its limits",
    "sandbox": "A command in the sandbox against a plain subprocess",
    "documents": "Documents read in a process of their own, against the same code here",
    "startup": "From the command to a live account, by platform, against the page alone",
}


def main(chosen: list[str]) -> int:
    """Run them; 1 where one could not be measured."""
    failed = 0
    for name, title in PARTS.items():
        if chosen and name not in chosen:
            continue
        print(f"\n{title}\n{'-' * len(title)}", flush=True)
        failed |= subprocess.call([sys.executable, "-m", f"tests.benchmarks.{name}"])
    return int(bool(failed))


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
