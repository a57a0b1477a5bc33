// Skills: list, switches, install from a file or a repository after a look through it, versions, restore, remove.

import { html, nothing } from "../vendor/lit.js";
import { get, post, put, remove } from "../api/client.js";
import { t } from "../texts/texts.js";
import { attempt, openDialog, toast } from "../ui/dialog.js";
import { time } from "../ui/format.js";
import { icon } from "../ui/icon.js";
import { menuButton } from "../ui/menu.js";
import { Page } from "../ui/page.js";
import { isAdmin, isOwner } from "../app/session.js";
import { badge, confirmed, entries, entry, formIn, intro, toggle } from "./parts.js";

const KINDS = { danger: "bad", warning: "warn" };
const at = (skill) => `/api/skills/${encodeURIComponent(skill.name)}`;

class Skills extends Page {
  actions() {
    if (!isOwner) return nothing;
    return html`<button class="button primary" id="install" @click=${() => this.install()}>${icon("plus")}<span>${t("skills.install")}</span></button>`;
  }

  load() {
    return get("/api/skills");
  }

  async run(work, done) {
    const result = await attempt(work, done);
    if (result !== undefined) await this.refresh();
  }

  /** Look through the skill, show what was found, then install exactly that. */
  async install() {
    /** @type {any} */
    let found = null;
    let where = "";
    /** @type {any} */
    let body = null;
    const fields = [
      { key: "file", label: t("skills.file"), type: "file", accept: ".skill,.zip", hint: t("skills.fileHint") },
      { key: "repository", label: t("skills.repository"), type: "url", hint: t("skills.repositoryHint") },
      { key: "folder", label: t("skills.folder"), hint: t("skills.folderHint") },
    ];
    const check = async ({ file, repository, folder }) => {
      where = encodeURIComponent(folder.trim());
      body = { repository: repository.trim(), commit: "", path: folder.trim() };
      if (file) {
        body = new FormData();
        body.set("file", file);
      }
      found = await post(`/api/skills/check?folder=${where}`, body);
    };
    if (!(await formIn(t("skills.install"), { fields, send: check, yes: t("skills.check") }))) return;
    // What was checked is installed, even if the repository has changed since then.
    if (!(body instanceof FormData)) body.commit = found.commit;
    const replace = found.replaces === "custom";
    const send = async () => toast((await post(`/api/skills/install?replace=${replace}&folder=${where}`, body)).message);
    const yes = replace ? t("skills.replace") : t("skills.installNow");
    if (await formIn(t("skills.installOf", { name: found.name }), { fields: [], send, yes, before: review(found), wide: true })) await this.refresh();
  }

  async versions(skill) {
    const { versions } = (await attempt(() => get(`${at(skill)}/versions`))) || { versions: [] };
    if (!versions.length) return;
    openDialog(t("skills.versionsOf", { name: skill.name }), (close) => {
      const restore = async (number) => {
        close();
        await this.run(() => post(`${at(skill)}/restore`, { version: number }), t("skills.restored", { name: skill.name, number }));
      };
      const line = (one) => html`<li class="row spread">
        <span class="words"><strong>${t("skills.number", { number: one.number })}</strong> ${one.version ? badge(one.version) : nothing}
          ${one.current ? badge(t("setup.current"), "good") : nothing}<br />
          <span class="small quiet">${time(one.installed_at)} · ${one.location || one.kind}${one.commit ? ` · ${one.commit.slice(0, 10)}` : ""}</span></span>
        ${!one.current && one.kept && isOwner ? html`<button class="button" aria-label=${t("skills.restoreNumber", { number: one.number })}
          @click=${() => restore(one.number)}>${icon("history")}${t("setup.restore")}</button>` : nothing}
      </li>`;
      return html`<ul class="stack lines">${versions.map(line)}</ul>
        <div class="answers"><button class="button" autofocus @click=${() => close()}>${t("app.close")}</button></div>`;
    });
  }

  async removeSkill(skill) {
    const { name } = skill;
    const done = await confirmed(t("setup.removeOf", { name }), t("skills.removeText"), t("setup.remove"), () => remove(at(skill)), t("setup.removed", { name }));
    if (done) await this.refresh();
  }

  menu(skill) {
    return menuButton(t("setup.actionsOf", { name: skill.name }), "ellipsis", [
      { text: t("skills.versions"), icon: "history", run: () => this.versions(skill) },
      ...(isOwner
        ? [
            { text: t("skills.update"), icon: "refresh-cw", run: () => this.run(() => post(`${at(skill)}/upgrade`, {}), t("skills.updated", { name: skill.name })) },
            "-",
            { text: t("setup.remove"), icon: "trash-2", danger: true, run: () => this.removeSkill(skill) },
          ]
        : []),
    ]);
  }

  row(skill) {
    const custom = skill.category === "custom";
    const tools = skill.allowed_tools ? skill.allowed_tools.join(", ") || t("app.none") : t("skills.anyTool");
    const change = (enabled) =>
      put(at(skill), { enabled }).then(() => {
        toast(t(enabled ? "setup.isOn" : "setup.isOff", { name: skill.name }));
        return this.refresh();
      });
    return entry({
      glyph: "puzzle",
      name: skill.name,
      badges: html`${custom ? badge(t("skills.installed"), "info") : badge(t("skills.bundled"))}${skill.version ? badge(skill.version) : nothing}`,
      lines: [
        skill.description,
        t("skills.tools", { tools }),
        skill.required_secrets?.length && t("skills.needs", { secrets: skill.required_secrets.join(", ") }),
        ...(skill.notes || []),
      ],
      actions: html`${isAdmin && custom ? this.menu(skill) : nothing}
        ${isAdmin ? toggle(skill.name, skill.enabled, change) : badge(skill.enabled ? t("setup.on") : t("setup.off"), skill.enabled ? "good" : "")}`,
    });
  }

  view({ skills, problems }) {
    return html`${intro(t("skills.intro"), "howto/write-skills")}
      ${problems.length
        ? html`<section class="banner warn"><div><h2>${t("skills.unusable")}</h2>
            <ul>${problems.map((one) => html`<li class="words"><code>${one.path}</code> ${one.error}</li>`)}</ul></div></section>`
        : nothing}
      ${entries(t("page.skills"), skills.map((skill) => this.row(skill)), t("skills.none"))}`;
  }
}

/** What is known of a skill before it is installed. */
function review(found) {
  const replaces = { custom: t("skills.replacesInstalled"), public: t("skills.replacesBundled") }[found.replaces];
  return html`<p>${found.description}</p>
    ${replaces ? html`<p class="banner">${replaces}</p>` : nothing}
    <h3>${t("skills.findings")}</h3>
    ${found.findings.length
      ? html`<ul class="stack lines">${found.findings.map((one) => html`<li class="words">${badge(t(`skills.${one.severity}`), KINDS[one.severity])}
          <code>${one.line ? `${one.file}:${one.line}` : one.file}</code> ${one.detail}</li>`)}</ul>`
      : html`<p class="quiet">${t("skills.noFindings")}</p>`}
    ${found.notes.map((note) => html`<p class="quiet">${note}</p>`)}
    <p class="small quiet">${t("skills.trust")}</p>`;
}

customElements.define("roe-skills", Skills);
