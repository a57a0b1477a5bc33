// The messages in one conversation. Turns are redrawn from the state that the service sends.

import { $, el, fileLabel, say, show } from "./dom.js";
import { copyButtons, render } from "./markdown.js";
import { quotations } from "./quotations.js";

const OPEN = new Set(["accepted", "running", "waiting", "delivering"]);
const STATES = {
  failed: ["Failed", "bad"],
  expired: ["Expired", "warn"],
};

export class Transcript {
  /** `choose(turn, part, choice)` answers a question, and throws if the answer is rejected. */
  constructor(choose) {
    this.choose = choose;
    this.choosing = new Set();
    this.list = $("turns");
    this.scroller = $("scroll");
    this.turns = new Map();
    this.pending = new Map();
    this.pinned = true;
    copyButtons(this.list);
    this.list.addEventListener("click", (event) => this.pressed(event.target.closest(".choice")));
    this.scroller.addEventListener("scroll", () => this.scrolled(), { passive: true });
    $("down").addEventListener("click", () => this.follow(true));
    new ResizeObserver(() => this.follow()).observe(this.list);
  }

  /** True while the agent works on a turn. */
  get busy() {
    return [...this.turns.values()].some(({ turn }) => turn.kind === "chat" && OPEN.has(turn.state));
  }

  clear() {
    this.list.replaceChildren();
    this.turns.clear();
    this.pending.clear();
    this.pinned = true;
    show($("typing"), false);
    this.welcome();
  }

  /** Apply the snapshot of a new connection: update the turns on screen instead of rebuilding them. */
  snapshot(turns) {
    for (const turn of turns) this.turn(turn, false);
    this.follow();
  }

  /** Draw the current state of a turn. */
  turn(turn, announced = true) {
    const known = this.turns.get(turn.id);
    const box = known?.box || this.insert(turn.id);
    const closed = known && OPEN.has(known.turn.state) && !OPEN.has(turn.state);
    this.turns.set(turn.id, { turn, box });
    box.dataset.kind = turn.kind;
    box.dataset.state = turn.state;
    box.classList.toggle("replaced", turn.replaced);
    for (const message of turn.messages) this.settle(message.event_id);
    fill(box.querySelector(".messages"), turn.messages.map(asked));
    this.answer(box, turn);
    this.offer(box, turn);
    fill(box.querySelector(".marks"), marks(turn));
    if (closed && announced) announce(box.querySelector(".answer"));
    if (!OPEN.has(turn.state) || turn.parts.length) show($("typing"), false);
    this.welcome();
    this.follow();
  }

  /** Draw a change of a growing part of a reply. Returns false if earlier text is missing. */
  delta({ turn, index, offset, text }) {
    const known = this.turns.get(turn);
    if (!known) return false;
    const parts = known.turn.parts;
    const part = parts.find((one) => one.index === index) || { index, kind: "text", text: "", html: "", choices: [] };
    if (offset > part.text.length) return false;
    part.text = part.text.slice(0, offset) + text;
    part.html = "";
    if (!parts.includes(part)) parts.push(part);
    show($("typing"), false);
    drawPart(known.box.querySelector(".answer"), part);
    known.box.querySelector(".answer").classList.add("growing");
    this.follow();
    return true;
  }

  typing() {
    show($("typing"), this.busy);
    this.follow();
  }

  /** Show a message that is sent but not yet accepted. */
  wait(eventId, text, files) {
    const box = el("li", { className: "turn" }, asked({ text, files, event_id: eventId }));
    box.firstChild.classList.add("pending");
    this.pending.set(eventId, box);
    this.list.append(box);
    this.welcome();
    this.follow(true);
  }

  settle(eventId) {
    this.pending.get(eventId)?.remove();
    this.pending.delete(eventId);
  }

  insert(id) {
    const box = el(
      "li",
      { className: "turn" },
      el("div", { className: "messages" }),
      el("div", { className: "answer" }),
      el("div", { className: "offers", hidden: true }),
      el("p", { className: "problem", role: "alert", hidden: true }),
      el("div", { className: "marks" }),
    );
    box.dataset.turn = id;
    const later = [...this.turns.keys()].filter((other) => other > id).sort((a, b) => a - b)[0];
    const before = later ? this.turns.get(later).box : [...this.pending.values()][0] || null;
    this.list.insertBefore(box, before);
    return box;
  }

  answer(box, turn) {
    const answer = box.querySelector(".answer");
    for (const part of turn.parts) drawPart(answer, part);
    const kept = new Set(turn.parts.map((part) => String(part.index)));
    for (const drawn of [...answer.children]) if (!kept.has(drawn.dataset.index)) drawn.remove();
    const grows = turn.state === "running" && turn.parts.length > 0;
    answer.classList.toggle("growing", grows);
    answer.setAttribute("aria-busy", String(OPEN.has(turn.state)));
    show(answer, turn.parts.length > 0);
  }

  /** Draw the choices of a question as buttons below it. */
  offer(box, turn) {
    const offers = box.querySelector(".offers");
    const inside = offers.contains(document.activeElement);
    const waits = this.choosing.has(turn.id);
    fill(offers, turn.parts.filter((part) => part.choices.length).map((part) => buttons(turn, part, waits)));
    show(offers, offers.children.length > 0);
    // The pressed button is gone: move focus to the next button or the messages.
    if (inside && !offers.contains(document.activeElement)) {
      (offers.querySelector("button") || this.scroller).focus({ preventScroll: true });
    }
  }

  async pressed(button) {
    if (!button) return;
    const { turn, part, choice } = button.dataset;
    const id = Number(turn);
    if (this.choosing.has(id)) return;
    const box = button.closest(".turn");
    this.choosing.add(id);
    hold(box, true);
    say(box.querySelector(".problem"), "");
    try {
      await this.choose(id, Number(part), choice);
    } catch (error) {
      say(box.querySelector(".problem"), error.message);
    }
    this.choosing.delete(id);
    hold(box, false);
    this.follow();
  }

  welcome() {
    show($("welcome"), this.turns.size === 0 && this.pending.size === 0);
  }

  scrolled() {
    const { scrollTop, scrollHeight, clientHeight } = this.scroller;
    this.pinned = scrollHeight - scrollTop - clientHeight < 60;
    show($("down"), !this.pinned);
  }

  follow(force = false) {
    if (force) this.pinned = true;
    if (this.pinned) this.scroller.scrollTop = this.scroller.scrollHeight;
  }
}

function fill(box, nodes) {
  const same = nodes.length === box.children.length && nodes.every((node, i) => node.isEqualNode(box.children[i]));
  if (!same) box.replaceChildren(...nodes);
}

function asked(message) {
  const box = el("div", { className: "asked" });
  box.dataset.event = message.event_id;
  if (message.text) box.append(el("p", { className: "bubble" }, message.text));
  box.append(...quotations(message));
  if (message.files?.length) {
    const chips = message.files.map((file) => el("span", { className: "chip" }, fileLabel(file.filename)));
    box.append(el("p", { className: "chips" }, ...chips));
  }
  return box;
}

function buttons(turn, part, waits) {
  const made = part.choices.map((choice) => {
    const button = el("button", { type: "button", className: "choice" }, choice);
    Object.assign(button.dataset, { turn: turn.id, part: part.index, choice });
    return button;
  });
  const box = el("div", { className: "choices", role: "group", "aria-label": "Choices" }, ...made);
  hold(box, waits);
  return box;
}

/** Disable or enable the choice buttons while one of them is being sent. */
function hold(box, waits) {
  for (const button of box.querySelectorAll(".choice")) {
    if (waits) button.setAttribute("aria-disabled", "true");
    else button.removeAttribute("aria-disabled");
  }
}

function drawPart(answer, part) {
  show(answer, true);
  const known = [...answer.children].find((box) => box.dataset.index === String(part.index));
  const box = known || el("div", { className: "part" });
  if (!known) {
    box.dataset.index = part.index;
    answer.append(box);
  }
  if (part.kind === "file") {
    box.className = "part";
    fill(box, [part.image ? picture(part) : download(part)]);
  } else if (part.html) {
    box.className = "part markdown";
    render(box, part.html);
  } else {
    box.className = "part plain";
    box.textContent = part.text;
  }
}

function download(part) {
  const link = el("a", { className: "file", href: `${part.url}?download=true`, download: part.filename });
  link.append(fileLabel(part.filename), el("small", {}, "Download"));
  return link;
}

function picture(part) {
  const image = el("img", { src: part.url, alt: part.filename, loading: "lazy" });
  const link = el("a", { className: "picture", href: part.url, target: "_blank", rel: "noopener" }, image);
  return el("figure", {}, link, el("figcaption", {}, part.filename));
}

function marks(turn) {
  const found = [];
  if (STATES[turn.state]) found.push(STATES[turn.state]);
  if (turn.state === "accepted" && turn.kind === "chat") found.push(["Waiting", ""]);
  if (turn.state === "running" && !turn.parts.length) found.push(["Working", ""]);
  if (turn.repeats) found.push(["Regenerated", ""]);
  if (turn.replaced) found.push(["Replaced by a later answer", ""]);
  if (turn.parts.some((part) => part.state === "undelivered")) found.push(["Not delivered", "bad"]);
  if (turn.parts.some((part) => part.repeated)) found.push(["Possible duplicate", "warn"]);
  return found.map(([text, kind]) => el("span", { className: `mark-label ${kind}`.trim() }, text));
}

function announce(answer) {
  const read = answer.cloneNode(true);
  for (const button of read.querySelectorAll(".copy")) button.remove();
  const text = read.textContent.replace(/\s+/g, " ").trim();
  $("announce").textContent = text.length > 400 ? `${text.slice(0, 400)}…` : text;
}
