// What can be done about an answer that failed, for those who may do it.

import { html, nothing } from "../vendor/lit.js";
import { chatAddress } from "../app/router.js";
import { allowed, isAdmin } from "../app/session.js";
import { t } from "../texts/texts.js";
import { icon } from "./icon.js";
import "./texts.js";

/** Pages that solve a kind of failure, and who may open them. */
const PAGES = {
  model: { link: "#/models", text: "remedy.model", glyph: "sparkles", may: isAdmin },
  agent: { link: "#/agents", text: "remedy.agent", glyph: "bot", may: isAdmin },
  "sign-in": { link: "#/mcp", text: "remedy.signIn", glyph: "key-round", may: allowed("inspect") },
  account: { link: "#/accounts", text: "remedy.account", glyph: "plug", may: allowed("accounts") },
  limit: { link: "#/usage", text: "remedy.limit", glyph: "gauge", may: true },
  new: { link: chatAddress(null), text: "app.newChat", glyph: "square-pen", may: true },
};

/** The dialog that replaces a refused key. */
const KEY = { link: "#/models/key/", text: "remedy.key", glyph: "key-round", may: true };

/**
 * The link to the page that solves a failure; `note` says who can, if the reader may not, and is nothing otherwise.
 * @param {any} turn
 */
export function remedyOf(turn) {
  const { kind, reason } = turn.remedy || {};
  const page = kind === "model" && reason === "auth" && allowed("configure") ? { ...KEY, link: `${KEY.link}${encodeURIComponent(turn.model)}?from=${encodeURIComponent(location.hash || location.search)}` } : PAGES[kind];
  return {
    link: page?.may ? html`<a class="button tiny" data-go href=${page.link}>${icon(page.glyph)}${t(page.text)}</a>` : nothing,
    note: page && !page.may ? html`<p class="small">${t("remedy.askAdmin")}</p>` : nothing,
  };
}
