// The open conversation: its turns as the service last told them, and messages on their way.

import { get, newEventId, post, put, withQuery } from "../api/client.js";
import { Feed } from "./feed.js";
import { drafts } from "./drafts.js";
import { ownZone } from "../ui/format.js";

const OPEN = new Set(["accepted", "running", "waiting", "delivering"]);
const PAGE = 30;

/** Return whether the agent still works on a turn. */
export const isOpen = (turn) => OPEN.has(turn.state);

/**
 * Changes are told as events: `change` for the list, the title or the messages on their way, `turn` (its detail is the
 * turn) for one that is on screen already, `closed` for a turn that was just answered, `created` once a new one has its
 * id, `gone` once it no longer exists.
 */
export class Conversation extends EventTarget {
  /** @param {number | null} id null for a new one, which the first message creates */
  constructor(id) {
    super();
    this.id = id;
    this.info = null;
    /** @type {Map<number, any>} */
    this.turns = new Map();
    /** Messages that are sent but not accepted yet. @type {{event_id: string, text: string, files: any[]}[]} */
    this.pending = [];
    /** Cursor of earlier turns; null once all are known. @type {string | null} */
    this.earlier = null;
    this.loaded = !id;
    this.loadingEarlier = false;
    this.closed = false;
    /** What a new conversation starts with. */
    this.wanted = { model: "", agent: "" };
    /** @type {Feed | null} */
    this.feed = null;
    if (id) this.watch();
  }

  get list() {
    return [...this.turns.values()].sort((one, other) => one.id - other.id);
  }

  /** True while the agent works on a turn. */
  get busy() {
    return [...this.turns.values()].some((turn) => turn.kind === "chat" && isOpen(turn));
  }

  get writable() {
    return this.info ? this.info.writable : true;
  }

  /** The last turn of the agent, null if there is none. */
  get last() {
    return this.list.findLast((turn) => turn.kind === "chat") || null;
  }

  /** The turn whose message can be replaced, 0 if there is none. */
  get editable() {
    return this.busy ? 0 : this.list.findLast((turn) => turn.editable)?.id || 0;
  }

  /** Turns whose message was replaced: even its latest answer is. */
  get edited() {
    const latest = new Map(this.list.map((turn) => [turn.repeats || turn.id, turn]));
    return new Set(this.list.filter((turn) => latest.get(turn.repeats || turn.id)?.replaced).map(({ id }) => id));
  }

  tell(type, detail = null) {
    this.dispatchEvent(new CustomEvent(type, { detail }));
  }

  watch() {
    if (this.closed) return;
    this.feed = new Feed(/** @type {number} */ (this.id), {
      snapshot: (data) => this.begin(data),
      turn: (turn) => this.take(turn),
      delta: (delta) => this.grow(delta),
      steps: ({ turn, steps }) => this.change(turn, { steps }),
      typing: () => {},
      gone: () => this.tell("gone"),
    });
  }

  begin({ conversation, turns, next }) {
    this.info = conversation;
    if (!this.loaded) this.earlier = next;
    this.loaded = true;
    for (const turn of turns) this.store(turn);
    this.tell("change");
  }

  store(turn) {
    this.turns.set(turn.id, turn);
    const arrived = new Set(turn.messages.map((message) => message.event_id));
    this.pending = this.pending.filter(({ event_id }) => !arrived.has(event_id));
  }

  take(turn) {
    const known = this.turns.get(turn.id);
    const waiting = this.pending.length;
    this.store(turn);
    if (known && waiting === this.pending.length) this.tell("turn", turn);
    if (known && isOpen(known) && !isOpen(turn)) this.tell("closed", turn);
    this.tell("change");
    if (turn.kind === "command" && turn.state === "done") this.reload();
    if (turn.kind === "chat" && !isOpen(turn)) {
      dispatchEvent(new Event("chats-changed"));
      // The agent may have given a title with its answer.
      if (!known || isOpen(known)) this.reload();
      if (turn.repeats && known && isOpen(known)) this.refresh(turn.repeats);
    }
  }

  change(id, fields) {
    const known = this.turns.get(id);
    if (!known) return null;
    const turn = { ...known, ...fields };
    this.turns.set(id, turn);
    this.tell("turn", turn);
    return turn;
  }

  /** Apply a change of a growing text. Returns false if earlier text is missing. */
  grow({ turn: id, index, offset, text }) {
    const turn = this.turns.get(id);
    if (!turn) return false;
    const part = turn.parts.find((one) => one.index === index) || { index, kind: "text", state: "posted", text: "", choices: [] };
    if (offset > part.text.length) return false;
    const grown = { ...part, text: part.text.slice(0, offset) + text };
    const others = turn.parts.filter((one) => one.index !== index);
    this.change(id, { parts: [...others, grown].sort((one, other) => one.index - other.index) });
    return true;
  }

  /** Read the title, model and agent again. */
  async reload() {
    const found = this.id && (await get(`/api/conversations/${this.id}`).catch(() => null));
    if (found) this.info = found;
    this.tell("change");
  }

  /** Read a turn again that changes with another one. */
  async refresh(id) {
    const turn = await get(`/api/turns/${id}`).catch(() => null);
    if (turn && this.turns.has(id)) this.change(id, turn);
    this.tell("change");
  }

  async loadEarlier() {
    if (!this.earlier || this.loadingEarlier) return;
    this.loadingEarlier = true;
    try {
      const page = await get(withQuery(`/api/conversations/${this.id}/messages`, { limit: PAGE, cursor: this.earlier }));
      for (const turn of page.turns) if (!this.turns.has(turn.id)) this.store(turn);
      this.earlier = page.next;
      this.tell("change");
    } finally {
      this.loadingEarlier = false;
    }
  }

  /** Send a message; resolves once it is stored. Throws ApiError. */
  async send(text, files) {
    const event_id = newEventId();
    this.pending = [...this.pending, { event_id, text, files: files.map(({ name }) => ({ filename: name })) }];
    this.tell("change");
    try {
      if (!this.id) await this.create();
      await post(`/api/conversations/${this.id}/messages`, messageBody(text, files, event_id));
    } catch (error) {
      this.pending = this.pending.filter((message) => message.event_id !== event_id);
      this.tell("change");
      throw error;
    }
    dispatchEvent(new Event("chats-changed"));
  }

  async create() {
    const made = await post("/api/conversations", { zone: ownZone() });
    this.id = made.id;
    this.info = made;
    drafts.move(null, made.id);
    this.tell("created");
    this.watch();
    for (const [kind, name] of Object.entries(this.wanted)) if (name) await put(`/api/conversations/${made.id}/${kind}`, { name });
  }

  /** Choose the model or agent of the conversation. */
  async choose(kind, name) {
    if (!this.id) this.wanted = { ...this.wanted, [kind]: name };
    else await put(`/api/conversations/${this.id}/${kind}`, { name });
    await this.reload();
  }

  stop() {
    return post(`/api/conversations/${this.id}/stop`);
  }

  regenerate(turn) {
    return post(`/api/turns/${turn.id}/retry`);
  }

  edit(turn, text) {
    return post(`/api/turns/${turn.id}/edit`, { text, event_id: newEventId() });
  }

  answer(turn, part, choice) {
    return post(`/api/turns/${turn.id}/parts/${part.index}/choice`, { choice, event_id: newEventId() });
  }

  async rate(turn, value) {
    await put(`/api/turns/${turn.id}/rating`, { value });
    this.change(turn.id, { rating: value });
  }

  close() {
    this.closed = true;
    this.feed?.close();
  }
}

function messageBody(text, files, event_id) {
  if (!files.length) return { text, event_id };
  const form = new FormData();
  form.set("text", text);
  form.set("event_id", event_id);
  for (const file of files) form.append("files", file);
  return form;
}
