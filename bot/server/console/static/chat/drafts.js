// Messages that are not sent yet, by conversation: they stay when the chat is left. Texts outlive a reload.

import { current } from "../app/session.js";

const KEY = `roebot.draft.${current.person}.`;

/** @typedef {{text: string, files: File[]}} Draft */

class Drafts {
  constructor() {
    /** @type {Map<number | null, File[]>} */
    this.files = new Map();
  }

  /** @returns {Draft} */
  get(id) {
    return { text: sessionStorage.getItem(KEY + (id ?? "new")) || "", files: this.files.get(id) || [] };
  }

  /** @param {number | null} id @param {Draft} draft */
  set(id, { text, files }) {
    if (text) sessionStorage.setItem(KEY + (id ?? "new"), text);
    else sessionStorage.removeItem(KEY + (id ?? "new"));
    if (files.length) this.files.set(id, files);
    else this.files.delete(id);
  }

  /** Put a message that could not be sent back before what was written since. */
  restore(id, { text, files }) {
    const later = this.get(id);
    this.set(id, { text: [text, later.text].filter(Boolean).join("\n"), files: [...files, ...later.files] });
  }

  move(from, to) {
    this.set(to, this.get(from));
    this.set(from, { text: "", files: [] });
  }
}

export const drafts = new Drafts();
