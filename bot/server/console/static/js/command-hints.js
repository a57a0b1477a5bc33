// Command suggestions after a `/`.

import { el, show } from "./dom.js";

export class Hints {
  constructor(list, field, choose) {
    this.list = list;
    this.field = field;
    this.choose = choose;
    this.commands = [];
    this.selected = 0;
    list.addEventListener("mousedown", (event) => {
      const item = event.target.closest("li");
      event.preventDefault();
      if (item) this.take(Number(item.dataset.place));
    });
  }

  get open() {
    return !this.list.hidden;
  }

  /** Show the commands that match the text so far. */
  update() {
    const match = /^\/([a-z0-9_]*)$/i.exec(this.field.value);
    const typed = match?.[1].toLowerCase();
    this.found = match ? this.commands.filter(({ name }) => name.startsWith(typed)) : [];
    this.selected = 0;
    this.draw();
  }

  close() {
    this.found = [];
    this.draw();
  }

  /** Handle a key; returns true if it was for the list. */
  key(event) {
    if (!this.open) return false;
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step) {
      this.selected = (this.selected + step + this.found.length) % this.found.length;
      this.draw();
    } else if (event.key === "Escape") {
      this.close();
    } else if (event.key === "Tab" || (event.key === "Enter" && !this.exact())) {
      this.take(this.selected);
    } else {
      return false;
    }
    event.preventDefault();
    return true;
  }

  exact() {
    return this.field.value.toLowerCase() === `/${this.found[this.selected].name}`;
  }

  take(place) {
    const command = this.found[place];
    this.close();
    this.choose(`/${command.name}${command.usage.includes(" ") ? " " : ""}`);
  }

  draw() {
    const items = this.found.map((command, place) => {
      const item = el("li", { id: `hint-${place}`, role: "option", "aria-selected": String(place === this.selected) });
      item.dataset.place = place;
      item.append(el("code", {}, command.usage), el("span", {}, command.summary));
      return item;
    });
    this.list.replaceChildren(...items);
    show(this.list, items.length > 0);
    this.field.setAttribute("aria-expanded", String(items.length > 0));
    if (items.length) {
      this.field.setAttribute("aria-activedescendant", `hint-${this.selected}`);
      items[this.selected].scrollIntoView({ block: "nearest" });
    } else {
      this.field.removeAttribute("aria-activedescendant");
    }
  }
}
