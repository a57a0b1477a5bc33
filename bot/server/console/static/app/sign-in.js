// The sign-in page: by a link from the chat or the terminal, or with the token of the service.

import { html, nothing, render } from "../vendor/lit.js";
import { post } from "../api/client.js";
import { t } from "../texts/texts.js";
import { explain } from "../ui/page.js";

const MARK = "#code=";

/** A text with the words between backticks as code. */
const coded = (text) => text.split("`").map((piece, at) => (at % 2 ? html`<code>${piece}</code>` : piece));

function draw(problem = "") {
  const page = html`<main class="card sign-in">
    <header><img src="/static/icon.svg" alt="" width="40" height="40" /><h1>${t("signIn.title")}</h1></header>
    <form class="stack" id="sign-in" @submit=${withToken}>
      ${"signOn" in document.body.dataset ? html`<a class="button primary" href="/api/session/oidc">${t("signIn.sso")}</a>` : nothing}
      <p>${coded(t("signIn.link"))}</p>
      <div class="field"><label for="token">${t("signIn.token")}</label>
        <input class="input" id="token" name="token" type="password" required autofocus autocomplete="current-password"
          aria-describedby="token-hint" aria-invalid=${problem ? "true" : nothing} /><small id="token-hint">${coded(t("signIn.tokenHint"))}</small></div>
      <p class="problem" id="problem" role="alert" ?hidden=${!problem}>${coded(problem)}</p>
      <button class="button primary">${t("signIn.do")}</button>
    </form>
  </main>`;
  render(page, document.body);
}

async function attempt(work) {
  draw();
  try {
    await work();
    return true;
  } catch (error) {
    draw(explain(error));
    return false;
  }
}

async function withToken(event) {
  event.preventDefault();
  const field = /** @type {HTMLInputElement} */ (document.getElementById("token"));
  if (await attempt(() => post("/api/session", { token: field.value }))) location.reload();
  else field.select();
}

/** Sign in with the code in the fragment, which reaches no server log and is removed from the address at once. */
function withLink() {
  if (!location.hash.startsWith(MARK)) return;
  const code = location.hash.slice(MARK.length);
  history.replaceState(null, "", location.pathname + location.search);
  attempt(() => post("/api/session", { code }).then(() => location.replace(location.pathname)));
}

draw();
document.getElementById("token").focus();
addEventListener("hashchange", withLink);
withLink();
