// Access requests, with the buttons that decide them.

import { html } from "../vendor/lit.js";
import { post, remove } from "../api/client.js";
import { t } from "../texts/texts.js";
import { attempt, confirmDialog } from "../ui/dialog.js";
import { time } from "../ui/format.js";
import { menuButton } from "../ui/menu.js";
import { accountName, copyId, named, nameOf, platformName } from "../ui/names.js";
import "./texts.js";

export const ROLES = ["member", "admin", "owner", "blocked"];
const path = (entry) => `/api/access/waiting/${encodeURIComponent(entry)}`;

async function allow(request, role, decided) {
  const name = nameOf(request.name, request.person);
  const done = await attempt(() => post(path(request.entry), { role }), t("people.allowed", { name, role: t(`role.${role}`) }));
  if (done !== undefined) decided();
}

async function dismiss(request, decided) {
  const name = nameOf(request.name, request.person);
  if (!(await confirmDialog(t("people.dismissAsk", { name }), t("people.dismissText"), t("people.dismiss")))) return;
  if ((await attempt(() => remove(path(request.entry)), t("people.dismissed"))) !== undefined) decided();
}

/** A list of access requests; `decided()` is called after each decision. With `platforms`, those of all accounts, a request names its account if there are several. */
export function requestList(requests, decided, platforms) {
  const at = ({ account, person }) => (platforms.filter((one) => person.startsWith(`${one}:`)).length > 1 ? `${platformName(person.split(":")[0])} (${account})` : accountName(account));
  return html`<ul class="things" aria-label=${t("people.requests")}>
    ${requests.map((one) => {
      const name = nameOf(one.name, one.person);
      return html`<li class="thing"><div class="grow">${named(one.name, html`${at(one)} · ${t("people.expires")} ${time(one.expires_at)}`, one.person)}</div>
        <div class="row">
          <button class="button tiny" aria-label=${t("people.allowName", { name })} @click=${() => allow(one, "member", decided)}>${t("people.allow")}</button>
          <button class="button tiny" aria-label=${t("people.dismissName", { name })} @click=${() => dismiss(one, decided)}>${t("people.dismiss")}</button>
          ${menuButton(t("app.more"), "ellipsis", () => [
            ...["admin", "owner"].map((role) => ({ text: t("people.allowAs", { role: t(`role.${role}`) }), icon: "shield", run: () => allow(one, role, decided) })),
            copyId(one.person),
          ], "ghost icon tiny")}
        </div></li>`;
    })}
  </ul>`;
}
