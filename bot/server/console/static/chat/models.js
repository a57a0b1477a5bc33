// The models and agents that a conversation may use.

import { html, nothing } from "../vendor/lit.js";
import { get } from "../api/client.js";
import { isAdmin } from "../app/session.js";
import { t } from "../texts/texts.js";
import { explain } from "../ui/page.js";
import { icon } from "../ui/icon.js";
import { menuAt } from "../ui/menu.js";
import { loadModels } from "../ui/names.js";

/** @typedef {{models: any[], standard: string, reason: string, agents: any[], problem: string}} Choices */

/** @returns {Promise<Choices>} */
export async function loadChoices() {
  try {
    const [found, { agents }] = await Promise.all([loadModels(), get("/api/agents").catch(() => ({ agents: [] }))]);
    return { models: found.models, standard: found.default, reason: found.reason, agents, problem: "" };
  } catch (error) {
    // A runtime of its own has no such route: its models are unknown, which is no problem.
    return { models: [], standard: "", reason: "", agents: [], problem: error.status === 404 ? "" : explain(error) };
  }
}

const named = (choices, name) => choices.models.find((model) => model.name === name);

/** What to tell the reader about the model in use, "" if there is nothing. */
export function noteOf(choices, name) {
  if (choices.problem) return choices.problem;
  const model = named(choices, name || choices.standard);
  if (model) return model.note || "";
  return choices.models.length ? "" : `${t("chat.noModelYet")} ${choices.reason}`.trim();
}

/**
 * The button that shows and chooses model and agent.
 * @param {Choices} choices
 * @param {{model: string, agent: string}} used
 * @param {((kind: "model" | "agent", name: string) => void) | null} choose null if the reader may not
 */
export function pickerView(choices, used, choose) {
  const model = named(choices, used.model || choices.standard);
  const text = model?.display_name || used.model || (choices.problem || !choices.models.length ? t("chat.noModel") : t("chat.standardModel"));
  const label = t("chat.pick", { model: text });
  const shown = html`<span class="cut">${text}</span>${used.agent ? html`<span class="badge cut">${used.agent}</span>` : nothing}`;
  if (!choose) return html`<span class="model-picker row quiet" id="model">${shown}</span>`;
  return html`<button class="button ghost model-picker" id="model" type="button" aria-label=${label} title=${label} aria-haspopup="menu" aria-expanded="false"
    @click=${(event) => menuAt(event.currentTarget, menu(choices, used, choose))}>${shown}${icon("chevron-down")}</button>`;
}

function menu(choices, used, choose) {
  const item = (kind) => (name, text, glyph) => ({ text, icon: glyph, checked: used[kind] === name, run: () => choose(kind, name) });
  const ready = choices.agents.filter((agent) => !agent.problem);
  const usual = named(choices, choices.standard)?.display_name;
  const admins = [isAdmin && { text: t("chat.manageModels"), icon: "settings", run: () => (location.hash = "#/models") }].filter(Boolean);
  return [
    { title: t("chat.modelTitle") },
    item("model")("", usual ? t("chat.usualModel", { model: usual }) : t("chat.standardModel"), "sparkles"),
    ...choices.models.filter((model) => model.name !== choices.standard).map((model) => item("model")(model.name, model.display_name, "sparkles")),
    ...(ready.length ? [{ title: t("chat.agentTitle") }, item("agent")("", t("chat.standardAgent"), "bot")] : []),
    ...ready.map((agent) => item("agent")(agent.name, agent.name, "bot")),
    ...(admins.length ? ["-", ...admins] : []),
  ];
}
