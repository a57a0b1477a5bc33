// Suggestions for a command and its arguments after a `/`.

import { html, nothing } from "../vendor/lit.js";
import { get } from "../api/client.js";
import { t } from "../texts/texts.js";

/** @typedef {{text: string, label: string, summary: string, more: boolean}} Suggestion */

/** Where the words of an argument come from, by the name of its command. */
const VALUES = {
  model: () => get("/api/models").then(({ models }) => models.map((model) => [model.name, model.display_name])),
  agent: () => get("/api/agents").then(({ agents }) => agents.map((agent) => [agent.name, agent.description])),
  help: (commands) => commands.map(({ name, summary }) => [name, summary]),
};

/** The commands of the service, and the words that may follow them. */
export class Commands {
  constructor() {
    /** @type {{name: string, usage: string, summary: string}[]} */
    this.list = [];
    /** @type {Map<string, Promise<string[][]>>} */
    this.values = new Map();
    get("/api/commands")
      .then(({ commands }) => (this.list = commands))
      .catch(() => null);
  }

  /**
   * What may follow a text; empty if it is no command.
   * @param {string} text
   * @returns {Promise<Suggestion[]>}
   */
  async suggest(text) {
    const typed = /^\/([a-z0-9_]*)$/i.exec(text)?.[1].toLowerCase();
    if (typed !== undefined) return this.list.filter(({ name }) => name.startsWith(typed)).map(commandSuggestion);
    const [, name = "", word = ""] = /^\/([a-z0-9_]+) ([^\s]*)$/i.exec(text) || [];
    const command = this.list.find((one) => one.name === name.toLowerCase());
    if (!command) return [];
    const found = await this.words(command);
    return found
      .filter(([value]) => value.toLowerCase().startsWith(word.toLowerCase()) && value !== word)
      .map(([value, summary]) => ({ text: `/${command.name} ${value}`, label: value, summary, more: false }));
  }

  words(command) {
    const known = this.values.get(command.name);
    if (known) return known;
    const choices = command.usage.match(/\[([a-z]+(?:\/[a-z]+)+)\]/)?.[1].split("/") || [];
    const found = Promise.resolve(VALUES[command.name]?.(this.list) ?? choices.map((word) => [word, ""])).catch(() => []);
    this.values.set(command.name, found);
    return found;
  }
}

const commandSuggestion = (command) => ({
  text: `/${command.name}${command.usage.includes(" ") ? " " : ""}`,
  label: command.usage,
  summary: command.summary,
  more: command.usage.includes(" "),
});

/** The list of suggestions above the message field. */
export function suggestionsView(found, selected, take) {
  return html`<ul class="hints" id="hints" role="listbox" aria-label=${t("chat.commands")} ?hidden=${!found.length}>
    ${found.map(
      (one, place) => html`<li id="hint-${place}" role="option" aria-selected=${place === selected} @mousedown=${(event) => {
        event.preventDefault();
        take(place);
      }}><code>${one.label}</code>${one.summary ? html`<span>${one.summary}</span>` : nothing}</li>`,
    )}
  </ul>`;
}
