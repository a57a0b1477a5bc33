"""GitHub's webhooks: workflow runs, deployments, issues and pull requests.

Fields: payload schemas of octokit/webhooks. Deliveries: "Best practices for using webhooks" in github/docs.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from bot.features.events.alerts import AlertReport, AlertSeverity, Event, Status
from bot.features.events.credentials import hex_signature
from bot.features.events.sources import base

_FAILURES: Final = ("failure", "timed_out", "startup_failure", "error")
_OUTCOMES: Final = {"success": Status.RESOLVED, **dict.fromkeys(_FAILURES, Status.FIRING)}


class _Item(base.Payload):
    """A run, a deployment, its status, an issue, a repository, a person or a label, by some of its fields."""

    id: base.Number = 0
    number: base.Number = 0
    name: base.Line = ""
    full_name: base.Line = ""
    login: base.Line = ""
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
    labels: tuple[_Item, ...] = ()
    draft: bool | None = False


class _Body(base.Payload):
    action: base.Line = ""
    repository: _Item
    sender: _Item = _Item()
    workflow_run: _Item | None = None
    deployment: _Item | None = None
    deployment_status: _Item | None = None
    issue: _Item | None = None
    pull_request: _Item | None = None


def read(delivery: base.EventRequest) -> Sequence[Event]:
    """Read an event. Other kinds of events are ignored."""
    if not delivery.headers.get("content-type", "").startswith("application/json"):
        raise base.UnreadableEvent("The content type of the webhook must be application/json.")
    name = delivery.headers.get("x-github-event", "")
    if name not in _READERS:
        return []
    body = base.read_payload(_Body, base.read_json(delivery.body))
    if (report := _READERS[name](body)) is None:
        return []
    facts = {"event": name, "action": body.action, "repository": body.repository.full_name}
    labels = {**facts, "sender": body.sender.login, **report.labels}
    # Two hooks of a repository may deliver the same event with the same id.
    hook, guid = (delivery.headers.get(f"x-github-{part}", "") for part in ("hook-id", "delivery"))
    key = base.delivery_key(f"{hook}:{guid}" if guid else "", name, delivery.body)
    title = f"{body.repository.full_name}: {report.title}"
    return [Event(key, f"{body.repository.id}/{report.key}", title, (report,), labels)]


def _read_run(body: _Body) -> AlertReport | None:
    """Read a workflow run. A later success of the workflow on the same branch resolves a failure."""
    run = body.workflow_run
    if run is None or run.conclusion not in _OUTCOMES:
        return None
    return AlertReport(
        key=f"workflow/{run.workflow_id}/{run.head_branch}",
        status=_OUTCOMES[run.conclusion],
        start=run.created_at,
        sequence=run.run_attempt,
        title=f"{run.name} on {run.head_branch}",
        text=run.display_title,
        severity=AlertSeverity.ERROR,
        labels=base.present({"workflow": run.name, "branch": run.head_branch, "conclusion": run.conclusion}),
        links=base.keep_links([("run", run.html_url)]),
    )


def _read_deployment(body: _Body) -> AlertReport | None:
    """Read a deployment status. A later success in the same environment resolves a failure."""
    plan, news = body.deployment, body.deployment_status
    if plan is None or news is None or news.state not in _OUTCOMES:
        return None
    return AlertReport(
        key=f"deployment/{plan.environment}/{plan.task}",
        status=_OUTCOMES[news.state],
        start=plan.created_at,
        sequence=news.id,
        title=f"deployment of {plan.ref} to {plan.environment}",
        text=news.description,
        severity=AlertSeverity.ERROR,
        labels=base.present({"environment": plan.environment, "ref": plan.ref, "state": news.state}),
        links=base.keep_links([("log", news.log_url or news.target_url)]),
    )


def _read_issue(body: _Body) -> AlertReport | None:
    """Read an issue or a pull request, which is a problem until it is closed."""
    kind, issue = ("issue", body.issue) if body.issue else ("pull request", body.pull_request)
    if issue is None:
        return None
    names = ", ".join(label.name for label in issue.labels)
    return AlertReport(
        key=f"{kind}/{issue.number}",
        status=Status.RESOLVED if issue.state == "closed" else Status.FIRING,
        start=issue.created_at,
        sequence=issue.updated_at,
        title=f"{kind} #{issue.number}: {issue.title}",
        text=issue.body,
        labels=base.present({"kind": kind, "labels": names, "draft": "true" if issue.draft else ""}),
        links=base.keep_links([(kind, issue.html_url)]),
    )


_READERS: Final = {
    "workflow_run": _read_run,
    "deployment_status": _read_deployment,
    **dict.fromkeys(("issues", "pull_request"), _read_issue),
}


def sample(began: float, ended: float | None) -> base.EventRequest:
    """Create a webhook about a failed run, or about a later successful one."""
    at, outcome = (began, "failure") if ended is None else (ended, "success")
    run = {"name": "Test of Roebot", "workflow_id": 1, "head_branch": "main", "conclusion": outcome}
    repository = {"id": 1, "full_name": "roebot/test"}
    news = {"workflow_run": {**run, "created_at": base.format_time(at)}, "repository": repository}
    headers = {"x-github-event": "workflow_run", "x-github-delivery": f"roebot-{at:.0f}"}
    return base.make_request({"action": "completed", **news}, headers)


SIGN: Final = hex_signature("x-hub-signature-256", prefix="sha256=")
GITHUB: Final = base.SourceKind("github", read, sample, SIGN)
