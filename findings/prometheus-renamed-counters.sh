#!/usr/bin/env bash
# A page of metrics in Prometheus's text format, with counters whose names don't end in _total, as older exporters have.
#
# Package: prometheus-client 0.26.0
# Expected: the parser of the text format returns the names of the page, which are those that Prometheus stores; the rule
#           about _total belongs to the OpenMetrics format.
# Observed: each sample of such a counter has another name: `mysql_queries` is read as `mysql_queries_total`, which no query
#           to Prometheus finds. If the page has a gauge `jobs_total` beside a counter `jobs`, both have samples of the
#           same name and labels, so a lookup by name takes either. Written again (a proxy, a federation), the name stays
#           changed, and the page has one family twice.
# So: for counters, take the name of the family that the page declares from its TYPE line.
set -euo pipefail
dir=$(mktemp -d); trap 'rm -rf "$dir"' EXIT
"${PYTHON:-python3}" -m venv "$dir/venv"
"$dir/venv/bin/pip" install -q prometheus-client==0.26.0
cd "$dir"; venv/bin/python - <<'PYTHON'
import sys
from importlib.metadata import version

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.parser import text_string_to_metric_families as parse

print("prometheus-client", version("prometheus-client"))


class Page:
    def __init__(self, text):
        self.text = text

    def collect(self):
        return parse(self.text)


def read(text):
    return [(sample.name, sample.value) for family in parse(text) for sample in family.samples]


def write(text):
    registry = CollectorRegistry(auto_describe=False)
    registry.register(Page(text))
    return [line for line in generate_latest(registry).decode().splitlines() if not line.startswith("# HELP")]


JOBS = "# TYPE jobs counter\njobs 5.0\n# TYPE jobs_total gauge\njobs_total 9.0\n"
TWICE = ["# TYPE jobs_total counter", "jobs_total 5.0", "# TYPE jobs_total gauge", "jobs_total 9.0"]
changed = 0
for text, expected, names, lines in (
    ("# TYPE up gauge\nup 1.0\n", [("up", 1)], [("up", 1)], None),
    ("# TYPE http_total counter\nhttp_total 3.0\n", [("http_total", 3)], [("http_total", 3)], None),
    ("# TYPE mysql_queries counter\nmysql_queries 5.0\n", [("mysql_queries", 5)], [("mysql_queries_total", 5)],
     ["# TYPE mysql_queries_total counter", "mysql_queries_total 5.0"]),
    (JOBS, [("jobs", 5), ("jobs_total", 9)], [("jobs_total", 5), ("jobs_total", 9)], TWICE),
):
    seen = read(text), write(text)
    print(f"{text!r}\n  expected: {expected}\n  observed: {seen[0]}, written again {seen[1]}")
    if seen != (names, lines or text.splitlines()):
        print(f"  CHANGED: it was {names}, {lines}")
        changed = 1
sys.exit(changed)
PYTHON
