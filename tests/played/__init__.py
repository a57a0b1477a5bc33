"""Play the model by hand: a person, or a program, answers each request that the agent sends to its provider.

In one terminal, a service on an emulated platform whose model waits for you:

    python -m tests.played scenario 2 --on telegram --desk /tmp/desk

It writes what people say step by step, and ends when the last step is answered. `--on` is page, telegram,
slack, discord or feishu; `python -m tests.played list` names the scenarios. `python -m tests.played serve`
starts the model alone, for a service of your own (`base_url` of a model in its configuration).

Each request appears in the folder of `--desk`, with a number and what it is for (lead, subagent, title,
memory, summary):

- `0007-lead.json` is the body as it arrived, `0007-lead.md` shows what is new since the last request of
  that conversation. System prompt and tools are shown once, and again if they changed.
- Write the answer to `0007.answer`. It is taken when it has been unchanged for a moment; what can't be read
  is explained in `0007.problem`, and the request waits on.
- `0007-lead.cancelled` says that nobody waits for the answer, since `/stop` for example. It can come some
  seconds late.

Over HTTP, at the address that is printed: `GET /played/next` waits for the oldest unanswered request and
returns its text, `GET /played/requests` lists the unanswered ones, and `POST /played/requests/7` takes the
answer. An answer is a text, followed by any number of calls, whose arguments are YAML:

    Let me count the rows first.
    === bash
    command: wc -l /mnt/user-data/uploads/sales.csv
    description: Count the rows
    === read_file
    {"path": "/mnt/user-data/uploads/notes.md"}

An empty answer is a file with nothing but `=== nothing`. While a request waits, the agent gets signs of life;
after an hour the request fails.

Scripted models prove what the authors had in mind, not what a model lacks: which fact it had to guess, which
sentence contradicts a tool, which error leads nowhere. After a change to prompts, tools or notes of the
service, have someone who does not know the code play the scenarios concerned (about ten minutes each), and
record their answers in `tests/e2e/test_review_scenarios*.py`.
"""
