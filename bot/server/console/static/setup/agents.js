// Custom agents: list, create, edit, delete.

import { html, nothing } from "../vendor/lit.js";
import { get, post, put, remove } from "../api/client.js";
import { t } from "../texts/texts.js";
import { attempt, toast } from "../ui/dialog.js";
import { icon } from "../ui/icon.js";
import { menuButton } from "../ui/menu.js";
import { Page } from "../ui/page.js";
import { isAdmin } from "../app/session.js";
import { badge, confirmed, entries, entry, formIn, intro } from "./parts.js";

const at = (name) => `/api/agents/${encodeURIComponent(name)}`;

class Agents extends Page {
  actions() {
    if (!isAdmin) return nothing;
    return html`<button class="button primary" id="new-agent" @click=${() => this.edit()}>${icon("plus")}<span>${t("agents.new")}</span></button>`;
  }

  load() {
    return get("/api/agents");
  }

  async edit(name = "") {
    const found = await attempt(() => Promise.all([name ? get(at(name)) : null, get("/api/models"), get("/api/skills")]));
    if (!found) return;
    const [agent, { models }, { skills }] = found;
    const offered = models.map((one) => [one.name, one.display_name]);
    if (agent?.model && !models.some((one) => one.name === agent.model)) offered.push([agent.model, t("agents.missingModel", { name: agent.model })]);
    const fields = [
      !agent && { key: "name", label: t("agents.name"), required: true, pattern: "[a-z0-9][a-z0-9_\\-]{0,63}", wrong: t("agents.wrongName"), hint: t("agents.wrongName") },
      { key: "description", label: t("agents.description"), value: agent?.description },
      { key: "model", label: t("agents.model"), type: "choice", choices: [["", t("agents.defaultModel")], ...offered], value: agent?.model || "" },
      { key: "tool_groups", label: t("agents.groups"), value: shown(agent?.tool_groups), hint: t("agents.several") },
      { key: "skills", label: t("page.skills"), value: shown(agent?.skills), hint: `${t("agents.several")} ${skills.map((one) => one.name).join(", ")}` },
      { key: "personality", label: t("agents.personality"), type: "area", value: agent?.personality, hint: t("agents.personalityHint") },
    ].filter(Boolean);
    const send = (values) => {
      const body = { ...values, model: values.model || null, tool_groups: names(values.tool_groups), skills: names(values.skills) };
      return agent ? put(at(name), body) : post("/api/agents", body);
    };
    const before = agent?.problem ? html`<p class="banner warn">${agent.problem} ${t("agents.replaces")}</p>` : nothing;
    if (!(await formIn(agent ? t("agents.editOf", { name }) : t("agents.new"), { fields, send, before }))) return;
    toast(t("agents.saved"));
    await this.refresh();
  }

  async removeAgent(name) {
    const done = await confirmed(t("agents.deleteOf", { name }), t("agents.deleteText", { name }), t("app.delete"), () => remove(at(name)), (answer) => answer.message);
    if (done) await this.refresh();
  }

  row(agent) {
    const list = (values, none) => (values ? values.join(", ") || t("app.none") : none);
    return entry({
      glyph: "bot",
      name: agent.name,
      badges: agent.problem ? badge(t("agents.unavailable"), "bad") : badge(t("agents.ready"), "good"),
      lines: [
        agent.problem && html`<span class="problem">${agent.problem}</span>`,
        agent.description,
        t("agents.facts", { model: agent.model || t("agents.defaultModel"), groups: list(agent.tool_groups, t("app.all")), skills: list(agent.skills, t("app.all")) }),
      ],
      actions: isAdmin
        ? html`<button class="button" aria-label=${t("agents.editOf", { name: agent.name })} @click=${() => this.edit(agent.name)}>${icon("pencil")}${t("app.edit")}</button>
            ${menuButton(t("setup.actionsOf", { name: agent.name }), "ellipsis", [
              { text: t("app.delete"), icon: "trash-2", danger: true, run: () => this.removeAgent(agent.name) },
            ])}`
        : nothing,
    });
  }

  view({ agents }) {
    return html`${intro(t("agents.intro"), "howto/create-custom-agents")}
      ${entries(t("page.agents"), agents.map((agent) => this.row(agent)), t("agents.none"))}`;
  }
}

/** Names as typed; null is all, an empty list none. */
const shown = (names) => (names ? names.join(", ") || "-" : "");

function names(written) {
  const found = written.split(",").map((name) => name.trim()).filter(Boolean);
  if (!found.length) return null;
  return found.length === 1 && found[0] === "-" ? [] : found;
}

customElements.define("roe-agents", Agents);
