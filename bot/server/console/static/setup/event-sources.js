// Event sources: list, add one, and what to enter in the system that sends.

import { html, nothing } from "../vendor/lit.js";
import { get, post } from "../api/client.js";
import { t } from "../texts/texts.js";
import { attempt, copyText } from "../ui/dialog.js";
import { time } from "../ui/format.js";
import { icon } from "../ui/icon.js";
import { menuButton } from "../ui/menu.js";
import { go } from "../app/router.js";
import { badge, entries, entry } from "./parts.js";
import { getOptions, reviewChanges } from "./settings.js";

/** Types that send the secret as a bearer token; the others sign with it. */
const BEARER = ["alertmanager", "datadog", "opsgenie", "cloudevents", "generic"];

/** Secrets that were made just now, by source: shown once. @type {Map<string, string>} */
const fresh = new Map();
const title = (type) => ({ github: "GitHub", pagerduty: "PagerDuty", cloudevents: "CloudEvents" })[type] || type[0].toUpperCase() + type.slice(1);

/** The tab, or the page of one source, or the form that adds one. */
export function eventsView(page, settings, sources) {
  const [, name] = page.rest.split("/");
  if (name === "add") return addView(page, settings);
  const found = sources.find((one) => one.name === name);
  if (found) return sourceView(page, settings, found);
  const row = (one) => entry({
    glyph: "webhook",
    name: one.name,
    link: `#/settings/events/${encodeURIComponent(one.name)}`,
    badges: html`${badge(title(one.type))}${one.has_route ? nothing : badge(t("events.noRoute"), "warn")}`,
    lines: [one.last ? html`${t("accounts.lastEvent")} ${time(one.last)} · ${t("events.count", { count: one.deliveries })}` : t("events.never"),
      one.unauthorized + one.unreadable > 0 && html`<span class="problem">${t("events.refused", { unauthorized: one.unauthorized, unreadable: one.unreadable })}</span>`],
  });
  return html`<div class="row"><a class="button primary" data-go href="#/settings/events/add">${icon("plus")}${t("events.add")}</a></div>
    ${entries(t("settings.events"), sources.map(row), t("events.none"))}`;
}

function addView(page, settings) {
  if (!page.options) {
    Promise.all([getOptions(), findPlaces()]).then(
      ([options, places]) => (Object.assign(page, { options, places }), page.requestUpdate()),
      (error) => ((page.failure = error), page.requestUpdate()),
    );
    return html`<p class="empty" role="status">${t("app.loading")}</p>`;
  }
  const { event_types, issuing_types } = page.options;
  const version = (page.addedAt ??= settings.version);
  const fields = ({ type = event_types[0] }) => [
    { key: "type", label: t("events.type"), type: "choice", required: true, value: event_types[0], choices: event_types.map((one) => [one, title(one)]) },
    { key: "name", label: t("events.name"), required: true, value: "", placeholder: type, pattern: "[a-z0-9][a-z0-9_\\-]{0,62}", wrong: t("agents.wrongName"), place: "events.sources" },
    issuing_types.includes(type) && { key: "secret", label: t("events.secret"), type: "secret", required: true, hint: t("events.issued", { type: title(type) }) },
    { key: "chat", label: t("events.chat"), type: "choice", required: true, hint: t("events.chatHint"), choices: [["", t("events.choose")], ...page.places], wrong: t("form.required") },
  ].filter(Boolean);
  const send = async ({ type, name, secret, chat }) => {
    const own = secret || newSecret();
    const [account, id, topic] = JSON.parse(chat);
    const change = { kind: "event_source", type, name, secret: own, account, chat: id, ...(topic ? { topic } : {}) };
    if (!(await reviewChanges([change], version))) return;
    page.addedAt = undefined;
    if (!issuing_types.includes(type)) fresh.set(name, own);
    go(`#/settings/events/${encodeURIComponent(name)}`);
    await page.refresh();
  };
  return html`<section class="card padded narrow"><roe-form .fields=${fields} .send=${send} .yes=${t("settings.review")}
    .more=${html`<a class="button" data-go href="#/settings/events">${t("app.cancel")}</a>`}></roe-form></section>`;
}

/** The chats as choices: account, chat and topic, and their names. */
async function findPlaces() {
  const { chats } = await get("/api/names?kind=chat&limit=200");
  return chats.filter((one) => one.chat).map((one) => [JSON.stringify([one.account, one.chat, one.topic || ""]), `${one.name} (${one.account})`]);
}

/** A secret of 24 random bytes, as base64url. */
const newSecret = () => btoa(String.fromCharCode(...crypto.getRandomValues(new Uint8Array(24)))).replaceAll("+", "-").replaceAll("/", "_");

/** Send a test event, and keep what became of it for the page of the source. */
async function sendTest(page, name) {
  page.tested = { name };
  page.requestUpdate();
  const found = await attempt(() => post(`/api/events/sources/${encodeURIComponent(name)}/test`));
  page.tested = found ? { name, ...found } : null;
  await page.refresh();
  page.requestUpdate();
}

/** Where the card of a test event is, or why there is none. */
function testResult({ card, place, account, reason }) {
  if (!card) return html`<p class="quiet" role="status">${icon("loader-circle")} ${t("events.testing")}</p>`;
  const where = `${place || t("events.itsChat")} (${account})`;
  if (card === "posted") return html`<p class="accepted" role="status">${icon("circle-check")} ${t("events.posted", { where })}</p>`;
  const why = { not_found: "events.notFound", permission: "events.notAllowed", auth: "events.notSignedIn" }[reason] || "events.notPosted";
  return html`<p class="problem" role="alert">${t({ failed: why, pending: "events.pending", unrouted: "events.unrouted" }[card], { where, account, reason })}
    ${why === "events.notSignedIn" || card === "pending" ? html` <a data-go href="#/accounts">${t("page.accounts")}</a>` : nothing}</p>`;
}

function sourceView(page, settings, source) {
  const secret = fresh.get(source.name);
  const tested = page.tested?.name === source.name ? page.tested : null;
  const address = `${location.origin}${source.path}`;
  const copied = (label, text) => html`<div class="field"><span class="label">${label}</span><span class="input-row"><code class="input mono words">${text}</code>
    <button class="button icon" type="button" aria-label=${t("events.copy", { label })} title=${t("events.copy", { label })} @click=${() => copyText(text)}>${icon("copy")}</button></span></div>`;
  const block = blockFor(source.type, address, secret || "SECRET");
  const remove = async () => {
    const changes = [{ kind: "remove", what: "event_source", name: source.name }];
    if (!(await reviewChanges(changes, settings.version, { title: t("setup.removeOf", { name: source.name }), danger: true }))) return;
    go("#/settings/events");
    await page.refresh();
  };
  return html`<section class="card padded narrow stack">
    <div class="row spread"><h2 class="words">${source.name}</h2>${menuButton(t("setup.actionsOf", { name: source.name }), "ellipsis", [
      { text: t("setup.remove"), icon: "trash-2", danger: true, run: remove }])}</div>
    <p role="status">${source.last ? html`<span class="accepted">${icon("circle-check")} ${t("events.received")} ${time(source.last)}</span>`
      : html`<span class="quiet">${icon("loader-circle")} ${t("events.waiting")}</span>`}</p>
    <div class="row"><button class="button" ?disabled=${tested && !tested.card} @click=${() => sendTest(page, source.name)}>${icon("send")}${t("events.test")}</button></div>
    ${tested ? testResult(tested) : nothing}
    ${source.unauthorized ? html`<p class="problem">${t("events.wrongSecret")}</p>` : nothing}
    <p>${t("events.enter", { type: title(source.type) })}</p>
    ${copied(t("events.address"), address)}
    ${secret ? copied(BEARER.includes(source.type) && source.type !== "alertmanager" ? t("events.header") : t("events.secret"),
      BEARER.includes(source.type) && source.type !== "alertmanager" ? `Authorization: Bearer ${secret}` : secret) : nothing}
    ${block ? copied(t("events.block"), block) : nothing}
    ${secret ? html`<p class="banner warn">${t("events.once")}</p>` : nothing}
    <p><a data-go href="#/docs/howto/connect-event-sources">${t("events.steps", { type: title(source.type) })}</a></p>
  </section>`;
}

/** The block that the sender's configuration needs, "" if it has a form of its own. */
function blockFor(type, address, secret) {
  if (type === "alertmanager") {
    return `receivers:\n  - name: roebot\n    webhook_configs:\n      - url: ${address}\n        http_config:\n          authorization:\n            credentials: ${secret}`;
  }
  if (type === "datadog") return JSON.stringify({ Authorization: `Bearer ${secret}` });
  if (type !== "generic" && type !== "cloudevents") return "";
  const body = type === "generic" ? { title: "Test", status: "problem" } : { specversion: "1.0", id: "1", source: "/test", type: "test", data: { title: "Test" } };
  const kind = type === "generic" ? "application/json" : "application/cloudevents+json";
  return `curl -X POST ${address} -H 'Authorization: Bearer ${secret}' -H 'Content-Type: ${kind}' -d '${JSON.stringify(body)}'`;
}
