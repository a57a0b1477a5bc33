// Form for schedules: what, where and when, with a preview of the next runs by the rules of saving.

import { html, nothing } from "../vendor/lit.js";
import { get, patch, post } from "../api/client.js";
import { t } from "../texts/texts.js";
import { formDialog, toast } from "../ui/dialog.js";
import { dateTime, marked, ownZone } from "../ui/format.js";
import { explain } from "../ui/page.js";
import { findChats, findZones } from "../ui/sources.js";
import "../ui/picker.js";
import "./texts.js";

const KINDS = ["prompt", "message", "digest"];
// A digest needs no text; a text only adds instructions.
const DIGEST = "digest";
const NEW = "new";
const PAUSE = 400;

/** A run's time in its zone. */
export const zoned = (seconds, zone) => `${dateTime(seconds, zone)} ${zone}`;

/** Chats, after a new one in the console. */
const findTargets = async (q) => [...(q ? [] : [{ value: NEW, text: t("plan.newChat") }]), ...(await findChats(q))];

/** The times of the form, with the runs that were last shown for them. */
class Times {
  constructor(schedule) {
    this.when = schedule?.when || "";
    this.zone = schedule?.zone || ownZone();
    this.runs = schedule?.firings || [];
    this.shown = schedule?.firings?.length ? this.key : "";
    this.problem = "";
    this.note = "";
  }

  get key() {
    return JSON.stringify([this.when.trim(), this.zone]);
  }

  /** Load the next runs; resolves to whether there are any for the present times. */
  async look(redraw) {
    const asked = this.key;
    if (!this.when.trim() || this.shown === asked) return this.shown === asked;
    this.problem = "";
    try {
      const { firings } = await post("/api/schedules/preview", { when: this.when.trim(), zone: this.zone });
      if (asked === this.key) [this.runs, this.shown] = [firings, asked];
    } catch (error) {
      if (asked === this.key) [this.runs, this.problem] = [[], explain(error)];
    }
    redraw();
    return this.shown === this.key;
  }

  /** Look again soon after typing. */
  typed(event, redraw) {
    this.when = event.target.value;
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.look(redraw), PAUSE);
  }
}

function timeFields(times, redraw) {
  const pick = (event) => {
    times.zone = event.detail?.value || ownZone();
    times.look(redraw);
  };
  return html`<div class="field"><label for="when">${t("plan.when")}</label>
      <input class="input" id="when" required maxlength="120" autocomplete="off" .value=${times.when} aria-describedby="when-problem when-hint" aria-invalid=${times.problem ? "true" : "false"}
        @input=${(event) => times.typed(event, redraw)} @change=${() => times.look(redraw)} />
      <small id="when-problem" class="problem" role="alert">${times.problem ? marked(times.problem) : nothing}</small>
      <small id="when-hint">${t("plan.whenHint")}</small></div>
    <roe-picker label=${t("plan.zone")} required .source=${findZones} .chosen=${{ value: times.zone, text: times.zone }} @change=${pick}></roe-picker>
    <div class="preview" role="status">
      ${times.runs.length && times.shown === times.key ? html`<p class="small quiet">${t("plan.next")}</p><ol>${times.runs.map((at) => html`<li>${zoned(at, times.zone)}</li>`)}</ol>` : nothing}
      ${times.note ? html`<p class="small">${times.note}</p>` : nothing}</div>`;
}

/** Open the form for a new schedule, or for the one with this number; resolves to whether it was saved. */
export async function editSchedule(id = 0) {
  const schedule = id ? await get(`/api/schedules/${id}`) : null;
  const times = new Times(schedule);
  let kind = schedule?.kind || "prompt";
  const fields = (redraw) => html`
    ${schedule ? html`<p class="quiet small">${schedule.place}</p>` : html`
      <roe-picker label=${t("plan.target")} name="conversation" required .source=${findTargets} hint=${t("plan.targetHint")}></roe-picker>
      <div class="field"><label for="kind">${t("plan.kind")}</label><select class="input" id="kind" name="kind" @change=${(event) => { kind = event.target.value; redraw(); }}>
        ${KINDS.map((name) => html`<option value=${name} ?selected=${name === kind}>${t(`plan.kind.${name}`)}</option>`)}</select></div>`}
    <div class="field"><label for="words">${t("plan.text")}</label>
      <textarea class="input" id="words" name="text" maxlength="4000" ?required=${kind !== DIGEST}>${schedule?.text || ""}</textarea></div>
    ${timeFields(times, redraw)}`;
  let made = 0;
  const send = async (data, redraw) => {
    const seen = times.shown === times.key;
    if (!(await times.look(redraw))) return false;
    if (!seen) {
      times.note = t("plan.review");
      return false;
    }
    const text = data.get("text");
    const when = { when: times.when.trim(), zone: times.zone };
    if (schedule) return patch(`/api/schedules/${id}`, { ...(text === schedule.text ? {} : { text }), ...(when.when === schedule.when ? {} : { when: when.when }), ...(when.zone === schedule.zone ? {} : { zone: when.zone }) });
    // If the request is rejected, the next attempt uses the same new conversation.
    if (data.get("conversation") === NEW) made ||= (await post("/api/conversations", { zone: ownZone() })).id;
    const conversation = data.get("conversation") === NEW ? made : Number(data.get("conversation"));
    return post("/api/schedules", { conversation, kind, text, ...when });
  };
  const saved = await formDialog(t(schedule ? "plan.edit" : "plan.new"), fields, t("app.save"), send);
  if (saved) toast(t("plan.saved"));
  return saved;
}
