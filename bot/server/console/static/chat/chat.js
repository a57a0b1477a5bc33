// The chat.

import { html } from "../vendor/lit.js";
import { t } from "../texts/texts.js";
import { Element } from "../ui/element.js";

class Chat extends Element {
  render() {
    return html`<p class="empty">${t("app.loading")}</p>`;
  }
}

customElements.define("roe-chat", Chat);
