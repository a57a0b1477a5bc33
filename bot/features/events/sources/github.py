"""GitHub's webhooks: workflow runs, deployments, issues and pull requests.

Fields: payload schemas of octokit/webhooks. Deliveries: "Best practices for using webhooks" in github/docs.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final

from bot.features.events.alerts import AlertReport, AlertSeverity, Event, Status
from bot.features.events.credentials import hex_signature
from bot.features.events.sources import base

_FAILED: Final = {"failure", "timed_out", "startup_failure", "error"}


class _Named(base.Payload):
    id: base.Number = 0
    name: base.Line = ""
    login: base.Line = ""
    full_name: base.Line = ""


class _Item(base.Payload):
    """A run, a deployment or its status, an issue or a pull request: each has some of these fields."""

    id: base.Number = 0
    number: base.Number = 0
    name: base.Line = ""
    title: base.Line = ""
    body: base.Paragraphs = ""
    state: base.Line = ""
    conclusion: base.Line = ""
    workflow_id: base.Number = 0
    head_branch: base.Line = ""
    run_attempt: base.Number = 1
    display_title: base.Line = ""
    ref: base.Line = ""
    task: base.Line = ""
    environment: base.Line = ""
    description: base.Paragraphs = ""
    html_url: base.Line = ""
    log_url: base.Line = ""
    target_url: base.Line = ""
    created_at: base.Instant = 0
    updated_at: base.Instant = 0
    labels: tuple[_Named, ...] = ()
    draft: bool | None = False


class _Body(base.Payload):
    action: base.Line = ""
    repository: _Named
    sender: _Named = _Named()
    workflow_run: _Item | None = None
    deployment: _Item | None = None
    deployment_status: _Item | None = None
    issue: _Item | None = None
    pull_request: _Item | None = None


Found = tuple[str, AlertReport] | None
"""The grouping key within the repository, and the report; None if the event is ignored."""


def read(delivery: base.EventRequest) -> Sequence[Event]:
    """Read an event. Other kinds of events are ignored."""
    if not delivery.headers.get("content-type", "").startswith("application/json"):
        raise base.UnreadableEvent("The content type of the webhook must be application/json.")
    name = delivery.headers.get("x-github-event", "")
    if name not in _READERS:
        return []
    body = base.read_payload(_Body, base.read_json(delivery.body))
    found = _READERS[name](body)
    if found is None:
        return []
    group, report = found
    facts = {"event": name, "action": body.action, "repository": body.repository.full_name}
    labels = {**facts, "sender": body.sender.login, **report.labels}
    # Two hooks of a repository may deliver the same event with the same id.
    hook, guid = (delivery.headers.get(f"x-github-{part}", "") for part in ("hook-id", "delivery"))
    key = (
        base.identifier(f"{hook}:{guid}")
        if guid
        else base.digest_of(name, delivery.body.decode(errors="replace"))
    )
    title = f"{body.repository.full_name}: {report.title}"
    return [Event(key, f"{body.repository.id}/{group}", title, (report,), labels)]


def _read_run(body: _Body) -> Found:
    """Read a workflow run. A later success of the workflow on the same branch resolves a failure."""
    run = body.workflow_run
    failed = run is not None and run.conclusion in _FAILED
    if run is None or not (failed or run.conclusion == "success"):
        return None
    labels = {"workflow": run.name, "branch": run.head_branch, "conclusion": run.conclusion}
    return f"workflow/{run.workflow_id}/{run.head_branch}", AlertReport(
        key="workflow",
        status=Status.FIRING if failed else Status.RESOLVED,
        start=run.created_at,
        sequence=run.run_attempt,
        title=f"{run.name} on {run.head_branch}",
        text=run.display_title,
        severity=AlertSeverity.ERROR,
        labels=base.present(labels),
        links=base.keep_links([("run", run.html_url)]),
    )


def _read_deployment(body: _Body) -> Found:
    """Read a deployment status. A later success in the same environment resolves a failure."""
    deployment, news = body.deployment, body.deployment_status
    if deployment is None or news is None or not (news.state in _FAILED or news.state == "success"):
        return None
    labels = {"environment": deployment.environment, "ref": deployment.ref, "state": news.state}
    return f"deployment/{deployment.environment}/{deployment.task}", AlertReport(
        key="deployment",
        status=Status.FIRING if news.state in _FAILED else Status.RESOLVED,
        start=deployment.created_at,
        sequence=news.id,
        title=f"deployment of {deployment.ref} to {deployment.environment}",
        text=news.description,
        severity=AlertSeverity.ERROR,
        labels=base.present(labels),
        links=base.keep_links([("log", news.log_url or news.target_url)]),
    )


def _read_issue(body: _Body) -> Found:
    """Read an issue or a pull request, which is a problem until it is closed."""
    kind, issue = ("issue", body.issue) if body.issue else ("pull request", body.pull_request)
    if issue is None:
        return None
    names = ", ".join(label.name for label in issue.labels)
    labels = {"kind": kind, "labels": names, "draft": "true" if issue.draft else ""}
    return f"{kind}/{issue.number}", AlertReport(
        key="issue",
        status=Status.RESOLVED if issue.state == "closed" else Status.FIRING,
        start=issue.created_at,
        sequence=issue.updated_at,
        title=f"{kind} #{issue.number}: {issue.title}",
        text=issue.body,
        labels=base.present(labels),
        links=base.keep_links([(kind, issue.html_url)]),
    )


_READERS: Final[Mapping[str, Callable[[_Body], Found]]] = {
    "workflow_run": _read_run,
    "deployment_status": _read_deployment,
    "issues": _read_issue,
    "pull_request": _read_issue,
}


def sample(began: float, ended: float | None) -> base.EventRequest:
    """Create a webhook about a failed run, or about a later successful one."""
    run = {
        "id": int(ended or began),
        "name": "Test of Roebot",
        "workflow_id": 1,
        "head_branch": "main",
        "conclusion": "failure" if ended is None else "success",
        "created_at": base.format_time(ended or began),
    }
    body = {"action": "completed", "repository": {"id": 1, "full_name": "roebot/test"}, "workflow_run": run}
    guid = f"roebot-{run['id']}"
    return base.make_request(body, {"x-github-event": "workflow_run", "x-github-delivery": guid})


SIGN: Final = hex_signature("x-hub-signature-256", prefix="sha256=")
GITHUB: Final = base.SourceKind("github", read, sample, SIGN)
