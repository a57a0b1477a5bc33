// Sign-in links opened by somebody who is signed in already. The code is in the fragment, so it reaches no server log,
// and it is removed from the address at once.

import { post } from "../api/client.js";
import { t } from "../texts/texts.js";
import { attempt, closeDialogs, confirmDialog } from "../ui/dialog.js";
import { current } from "./session.js";

const MARK = "#code=";

/** @param {HashChangeEvent} [event] */
async function look(event) {
  if (!location.hash.startsWith(MARK)) return;
  const code = location.hash.slice(MARK.length);
  history.replaceState(null, "", event?.oldURL ?? location.pathname + location.search);
  closeDialogs();
  const name = current.name || t(`role.${current.role}`);
  if (!(await confirmDialog(t("link.title"), t("link.text", { name }), t("link.yes")))) return;
  await attempt(() => post("/api/session", { code }).then(() => location.replace(location.pathname)));
}

addEventListener("hashchange", look);
look();
