// An open approval: what is asked, who may decide, and until when.

import { html, nothing } from "../vendor/lit.js";
import { t } from "../texts/texts.js";
import { dateTime } from "./format.js";
import "./texts.js";

/** The title of a request. */
export const approvalTitle = ({ tool }) => html`${t(tool ? "approval.tool" : "approval.title")}${tool ? html`<code class="words">${tool}</code>` : nothing}`;

/** Who may decide, and until when. */
export const approvalNote = ({ waits_for, expires_at }) => html`<p class="small quiet words">${t("approval.expires", { who: waits_for, time: dateTime(expires_at) })}</p>`;

/** The agent's words in a part, without what the service says below them. */
export const ownWords = (part) => part.own ?? part.text;
