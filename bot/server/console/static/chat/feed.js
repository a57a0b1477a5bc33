// The events of a conversation. Each connection starts with a snapshot, so a reconnect needs no state.

import { get, setReachable } from "../api/client.js";

const AGAIN = 1500;

/** @typedef {{snapshot(data: any): void, turn(data: any): void, delta(data: any): boolean, steps(data: any): void, typing(): void, gone(): void}} FeedHandlers */

export class Feed {
  /**
   * @param {number} conversation
   * @param {FeedHandlers} handlers `delta` returns false if earlier text is missing, `gone` is called once the
   *   conversation no longer exists or is no longer the reader's.
   */
  constructor(conversation, handlers) {
    this.path = `/api/conversations/${conversation}`;
    this.handlers = handlers;
    this.closed = false;
    this.timer = 0;
    this.connect();
  }

  connect() {
    this.source = new EventSource(`${this.path}/events`);
    this.source.onopen = () => setReachable(true);
    this.source.onerror = () => this.failed();
    for (const kind of ["snapshot", "turn", "delta", "steps", "typing"]) {
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

  // The browser reconnects by itself unless the service refused; then the API has the reason.
  async failed() {
    if (this.closed) return;
    const refused = this.source.readyState === EventSource.CLOSED;
    const error = await get(this.path).then(() => null, (reason) => reason);
    if (this.closed) return;
    if (error?.status === 404) this.handlers.gone();
    else if (refused) {
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
