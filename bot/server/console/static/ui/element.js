// Base of our elements.

import { LitElement } from "../vendor/lit.js";

/** A Lit element without a shadow tree, so that styles, labels and anchors of the page reach it. */
export class Element extends LitElement {
  createRenderRoot() {
    return this;
  }
}
