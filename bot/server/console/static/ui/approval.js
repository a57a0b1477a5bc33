// An open approval: what is asked, who may decide, and until when.

import { html, nothing } from "../vendor/lit.js";
import { t } from "../texts/texts.js";
import { dateTime } from "./format.js";
import "./texts.js";

/** The title of a request. */
export const approvalTitle = ({ tool }) => html`${t(tool ? "approval.tool" : "approval.title")}${tool ? html`<code class="words">${tool}</code>` : nothing}`;

/** A choice as a button shows it. */
export const choiceLabel = (choice) => choice.charAt(0).toUpperCase() + choice.slice(1);

/** What the choices beyond this one call mean, who may decide, and until when. */
export const approvalNote = ({ waits_for, expires_at }, choices) => html`<p class="small quiet words">${choices.length > 2 ? `${t("approval.lasting")} ` : ""}${t("approval.expires", { who: waits_for, time: dateTime(expires_at) })}</p>`;

/** The agent's words in a part, without what the service says below them. */
export const ownWords = (part) => part.own ?? part.text;
