// Form for schedules; the next runs are previewed before saving.

import { call, get, post } from "../api.js";
import { formDialog } from "../dialog.js";
import { el, say } from "../dom.js";
import { zoned } from "../format.js";
import { accounts } from "../current-user.js";
import { choice, field, fill, text } from "../components.js";
import { withForm } from "../section-view.js";

const HINT = "For example: every weekday at 9:00, first monday of the month at 10:00, in 2 hours, or five cron fields such as 0 9 * * mon-fri";
const KINDS = [
  ["prompt", "Ask the agent"],
  ["message", "Post a message"],
  ["digest", "Post a digest"],
];
const TALKED = "Only chats where someone has written to the bot are listed.";
const NEW = "new";
// A digest needs no text; a text only adds instructions.
const DIGEST = "digest";

/** Open the form for a new schedule, or for the one with this number. */
export async function edit(view, opener, number = 0) {
  await withForm(view, opener, "Schedule saved.", async () => {
    const schedule = number ? await get(`/api/schedules/${number}`) : null;
    const times = new Times(schedule);
    const needed = schedule?.kind !== DIGEST;
    const words = el("textarea", { required: needed, maxLength: 4000, defaultValue: schedule?.text || "" });
    const place = schedule ? null : await targetFields();
    const kind = choice(KINDS, "prompt");
    kind.addEventListener("change", () => (words.required = kind.value !== DIGEST));
    const fields = [
      ...(place ? [field("Account", place.account), field("Conversation", place.conversation, TALKED)] : []),
      ...(place ? [field("Type", kind)] : []),
      field("Text", words),
      ...times.fields,
    ];
    const save = async () => {
      if (!(await times.seen())) return false;
      if (schedule) return change(schedule, times, words.value);
      const conversation = await place.chosen();
      const body = { conversation, kind: kind.value, text: words.value, ...times.values };
      return post("/api/schedules", body);
    };
    const title = schedule ? `Edit schedule ${number}` : "New schedule";
    return formDialog(title, fields, "Save", save);
  });
}

function change(schedule, times, words) {
  const body = { text: words };
  for (const name of ["when", "zone"]) if (times.values[name] !== schedule[name]) body[name] = times.values[name];
  return call("PATCH", `/api/schedules/${schedule.id}`, body);
}

/** The time fields, with a preview of the next runs. */
class Times {
  constructor(schedule) {
    const here = Intl.DateTimeFormat().resolvedOptions().timeZone || "UTC";
    this.when = text(schedule?.when || "", { required: true, maxLength: 120 });
    this.zone = text(schedule?.zone || here, { required: true, maxLength: 60 });
    this.zone.setAttribute("list", "zones");
    this.list = el("ol", { className: "preview", "aria-label": "Next runs" });
    this.note = el("p", { role: "status", className: "quiet" });
    this.problem = el("p", { role: "alert", className: "problem", hidden: true });
    this.shown = "";
    const look = el("button", { type: "button", className: "plain" }, "Preview the next five runs");
    look.addEventListener("click", () => this.look());
    for (const control of [this.when, this.zone]) control.addEventListener("change", () => this.look());
    this.fields = [field("When", this.when, HINT), field("Time zone", this.zone), zones()];
    this.fields.push(look, this.problem, this.list, this.note);
    if (schedule?.firings.length) this.show(schedule.firings);
  }

  get values() {
    return { when: this.when.value.trim(), zone: this.zone.value.trim() };
  }

  get key() {
    return JSON.stringify(this.values);
  }

  show(firings) {
    this.shown = this.key;
    say(this.problem, "");
    this.list.replaceChildren(...firings.map((at) => el("li", {}, zoned(at, this.values.zone))));
  }

  /** Load and show the next runs; resolves to true if there are any. */
  async look() {
    if (!this.values.when || this.shown === this.key) return this.shown === this.key;
    const asked = this.key;
    this.list.replaceChildren();
    try {
      const { firings } = await post("/api/schedules/preview", this.values);
      if (asked === this.key) this.show(firings);
    } catch (error) {
      say(this.problem, error.message);
    }
    return asked === this.key && this.shown === asked;
  }

  /** True if the next runs were shown before; else show them now. */
  async seen() {
    if (this.shown === this.key) return true;
    if (await this.look()) this.note.textContent = "Review the next runs, then save again.";
    return false;
  }
}

function zones() {
  const known = Intl.supportedValuesOf?.("timeZone") || [];
  return el("datalist", { id: "zones" }, ...known.map((value) => el("option", { value })));
}

/** Return two selects: an account and one of its conversations. */
async function targetFields() {
  const channels = await accounts();
  const account = choice(channels.map((one) => [one.account, `${one.account} (${one.platform})`]), "web");
  const conversation = choice([], "", { required: true });
  const list = async () => {
    const own = channels.find((one) => one.account === account.value);
    const answer = await get(`/api/conversations?limit=200&account=${encodeURIComponent(account.value)}`);
    const options = answer.conversations.map((one) => [one.id, `${one.title || one.chat} (${one.id})`]);
    if (own?.platform === "web") options.unshift([NEW, "New conversation"]);
    fill(conversation, options);
  };
  account.addEventListener("change", list);
  await list();
  const chosen = async () => {
    if (conversation.value !== NEW) return Number(conversation.value);
    const made = await post("/api/conversations", { account: account.value });
    // If the request is rejected, the next attempt uses the same conversation.
    fill(conversation, [[made.id, `New conversation (${made.id})`]]);
    return made.id;
  };
  return { account, conversation, chosen };
}
