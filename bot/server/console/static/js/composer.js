// The message field: text, files, command suggestions.

import { $, el, fileLabel, say, show } from "./dom.js";
import { Hints } from "./command-hints.js";

export class Composer {
  /** `send(text, files)` resolves once the message is accepted, else throws. */
  constructor(app, send, stop) {
    this.limit = Number(app.dataset.fileBytes);
    this.field = $("text");
    this.form = $("composer");
    this.picker = $("file");
    this.files = [];
    this.send = send;
    this.hints = new Hints($("hints"), this.field, (text) => this.put(text));
    this.form.addEventListener("submit", (event) => {
      event.preventDefault();
      this.submit();
    });
    this.field.addEventListener("keydown", (event) => this.key(event));
    this.field.addEventListener("input", () => this.changed());
    this.field.addEventListener("blur", () => this.hints.close());
    this.field.addEventListener("paste", (event) => this.add(event.clipboardData.files));
    $("attach").addEventListener("click", () => this.picker.click());
    this.picker.addEventListener("change", () => {
      this.add(this.picker.files);
      this.picker.value = "";
    });
    $("stop").addEventListener("click", stop);
    this.dropping();
    this.changed();
  }

  focus() {
    if (matchMedia("(hover: hover)").matches) this.field.focus();
  }

  put(text) {
    this.field.value = text;
    this.field.focus();
    this.changed(false);
  }

  key(event) {
    if (event.isComposing || this.hints.key(event)) return;
    if (event.key === "Enter" && !event.shiftKey) {
      event.preventDefault();
      this.submit();
    }
  }

  changed(hint = true) {
    this.field.style.height = "auto";
    this.field.style.height = `${this.field.scrollHeight}px`;
    if (hint) this.hints.update();
    $("send").disabled = !this.field.value.trim() && !this.files.length;
  }

  async submit() {
    const text = this.field.value.trim();
    const files = this.files;
    if (!text && !files.length) return;
    this.hints.close();
    say($("problem"), "");
    this.files = [];
    this.field.value = "";
    this.drawFiles();
    try {
      await this.send(text, files);
    } catch (error) {
      say($("problem"), `${error.message} Your message is still here.`);
      this.files = [...files, ...this.files];
      this.field.value = [text, this.field.value].filter(Boolean).join("\n");
      this.drawFiles();
    }
  }

  add(files) {
    say($("problem"), "");
    for (const file of files) {
      if (file.size > this.limit) {
        say($("problem"), `${file.name} is too large. The limit is ${this.limit / 1e6} MB.`);
      } else if (this.files.length < 10) {
        this.files.push(file);
      } else {
        say($("problem"), "You can attach up to ten files per message.");
      }
    }
    this.drawFiles();
  }

  drawFiles() {
    const items = this.files.map((file) => {
      const remove = el("button", { type: "button", "aria-label": `Remove ${file.name}` }, "×");
      remove.addEventListener("click", () => {
        this.files = this.files.filter((other) => other !== file);
        this.drawFiles();
        this.field.focus();
      });
      return el("li", {}, fileLabel(file.name), remove);
    });
    $("files").replaceChildren(...items);
    show($("files"), items.length > 0);
    this.changed(false);
  }

  dropping() {
    const main = document.querySelector(".main");
    main.addEventListener("dragover", (event) => {
      event.preventDefault();
      this.form.classList.add("over");
    });
    main.addEventListener("dragleave", () => this.form.classList.remove("over"));
    main.addEventListener("drop", (event) => {
      event.preventDefault();
      this.form.classList.remove("over");
      this.add(event.dataTransfer.files);
    });
  }
}
