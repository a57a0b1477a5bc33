// The events of a conversation. Each connection starts with a snapshot, so a reconnect needs no state.

import { get } from "./api.js";

const KINDS = ["snapshot", "turn", "delta", "steps", "typing"];
const AGAIN = 1500;

export class Stream {
  /** `handlers` has a function per event kind, `online(bool)` and `gone()`. */
  constructor(conversation, handlers) {
    this.path = `/api/conversations/${conversation}/events`;
    this.conversation = conversation;
    this.handlers = handlers;
    this.closed = false;
    this.connect();
  }

  connect() {
    this.source = new EventSource(this.path);
    this.source.onopen = () => this.handlers.online(true);
    this.source.onerror = () => this.handleError();
    for (const kind of KINDS) {
      this.source.addEventListener(kind, (event) => {
        if (this.closed) return;
        // After a gap in the deltas, a new connection starts with a snapshot.
        if (this.handlers[kind](JSON.parse(event.data)) === false) this.reconnect();
      });
    }
  }

  reconnect() {
    this.source.close();
    this.connect();
  }

  // The browser reconnects by itself unless the service refused; then ask the API for the reason.
  async handleError() {
    if (this.closed) return;
    const refused = this.source.readyState === EventSource.CLOSED;
    try {
      await get(`/api/conversations/${this.conversation}`);
    } catch (error) {
      if (!this.closed && error.status === 404) this.handlers.gone();
      if (!this.closed && error.status === 0) this.handlers.online(false);
    }
    if (refused && !this.closed) {
      clearTimeout(this.timer);
      this.timer = setTimeout(() => !this.closed && this.connect(), AGAIN);
    }
  }

  close() {
    this.closed = true;
    clearTimeout(this.timer);
    this.source.close();
  }
}
