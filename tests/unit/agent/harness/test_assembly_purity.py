"""The assembly reads no file, environment or global: proven by taking them away."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

pytestmark = pytest.mark.may_block

DENIED = """
import builtins, importlib, json, os, pathlib, socket, sys, time

from langchain.agents.middleware import AgentMiddleware
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver

from agent.harness.assembly import BUILT_INS
from agent.factory import create_agent_graph
from agent.features import Next, RuntimeFeatures
from roebot_testing.agent import ScriptedChatModel

for slot in BUILT_INS:
    importlib.import_module(slot.use.partition(":")[0])

class Extra(AgentMiddleware):
    pass

from agent.middleware.tool_calls import ToolErrorHandlingMiddleware

@Next(ToolErrorHandlingMiddleware)
class Anchored(AgentMiddleware):
    pass

@tool
def add(a: int, b: int) -> int:
    "Add."
    return a + b

model = ScriptedChatModel(environ={})
saver = InMemorySaver()
on = {name: True for name in RuntimeFeatures.__dataclass_fields__}
off = {name: False for name in on}
wanted = [
    ("nothing given", {}),
    ("all on", {"features": RuntimeFeatures(**on), "plan_mode": True}),
    ("all off", {"features": RuntimeFeatures(**off)}),
    ("extras", {"extra_middleware": [Extra(), Anchored()]}),
    ("own chain", {"middleware": [Extra()]}),
    *[(name, {"features": RuntimeFeatures(**{**off, name: True})}) for name in on],
]

denying = False
touched = []
HERE = os.path.dirname(os.path.dirname(os.path.abspath(sys.modules["agent"].__file__))) + os.sep

def deny(what):
    if denying:
        touched.append(what)
        raise PermissionError("denied: " + what)

def audit(event, args):
    if event in {"open", "os.listdir", "os.scandir", "os.mkdir", "os.rename", "os.remove", "import",
                 "subprocess.Popen", "socket.connect", "socket.getaddrinfo", "os.putenv"}:
        if event == "import" and args[0] in sys.modules:
            return
        deny(f"{event} {args[0]!r}")

class NoEnviron(dict):
    def _no(self, *args, **kwargs):
        # what traces calls asks the environment whether it should; that is nobody's assembly
        frame, depth = sys._getframe(1), 0
        while frame is not None and "langsmith" not in frame.f_code.co_filename:
            frame = frame.f_back
        if frame is None:
            deny(f"environ {args!r}")
        return None
    __getitem__ = __contains__ = __iter__ = get = keys = items = values = copy = _no

sys.addaudithook(audit)
graphs = {}
real = os.environ, os.stat, os.getcwd, os.getenv, time.time
os.environ, os.getenv = NoEnviron(), lambda *a: deny("getenv")
os.stat = lambda *a, **k: deny("stat") or real[1](*a, **k)
os.getcwd = lambda: deny("getcwd")
denying = True
try:
    for name, arguments in wanted:
        graph = create_agent_graph(model, [add], checkpointer=saver, **arguments)
        graphs[name] = len(graph.nodes)
except BaseException as error:
    graphs = {"failed": f"{name}: {type(error).__name__}: {error}"}
finally:
    denying = False
    os.environ, os.stat, os.getcwd, os.getenv, _ = real
print(json.dumps({"graphs": graphs, "touched": touched}))
"""


def test_it_is_assembled_from_its_arguments_alone() -> None:
    done = subprocess.run([sys.executable, "-c", DENIED], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["touched"] == []
    assert "failed" not in found["graphs"], found["graphs"]
    assert len(found["graphs"]) == 16


@pytest.mark.long
def test_what_is_taken_away_is_missed_by_whoever_needs_it() -> None:
    """The proof itself: a middleware that looks at the environment or a file is found out."""
    nosy = DENIED.replace(
        "class Extra(AgentMiddleware):\n    pass",
        "class Extra(AgentMiddleware):\n    @property\n    def name(self):\n        return 'Extra' + WAY",
    )
    for way in (
        "os.environ.get('HOME', '')",
        "open('/etc/hostname').read()",
        "str(pathlib.Path('x').exists())",
    ):
        code = nosy.replace("WAY", way)
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        found = json.loads(done.stdout)
        assert found["touched"] or "failed" in found["graphs"], way
