// The second safeguard: a strict allow list over the HTML that parser.js makes. The source has no class,
// style or id; those that pass here are ours.

import { DOMPurify } from "../vendor/markdown.js";

const TAGS =
  "a abbr b bdi blockquote br caption cite code col colgroup dd del details dfn div dl dt em h1 h2 h3 h4 h5 h6 hr i ins" +
  " kbd li mark ol p pre q rp rt ruby s samp section small span strong sub summary sup table tbody td tfoot th thead" +
  " tr u ul var wbr";
const CLASS =
  /^(?:math(?: display)?|align-(?:left|center|right)|task(?: done)?|note-ref|notes|image|source|(?:language-[\w+#.-]+)?(?: ?open)?)$/;
const OPTIONS = {
  ALLOWED_TAGS: TAGS.split(" "),
  ALLOWED_ATTR: ["href", "class", "id", "start", "dir", "open", "colspan", "rowspan"],
  ALLOW_DATA_ATTR: false,
  ALLOW_ARIA_ATTR: false,
  ALLOWED_URI_REGEXP: /^(?:https?:\/\/|mailto:|#\/)/i,
  // The expression is applied to the values of all other attributes too.
  ADD_URI_SAFE_ATTR: ["start", "dir", "open", "colspan", "rowspan"],
  RETURN_DOM_FRAGMENT: true,
};
const purifier = DOMPurify(window);
purifier.addHook("uponSanitizeAttribute", (_node, attribute) => {
  const { attrName, attrValue } = attribute;
  if (attrName === "class" && !CLASS.test(attrValue)) attribute.keepAttr = false;
  if (attrName === "id" && !/^[\w-]+-note-\d+$/.test(attrValue)) attribute.keepAttr = false;
});

/** Return the nodes of this HTML without anything that acts, loads or styles. */
export function sanitize(html) {
  return purifier.sanitize(html, OPTIONS);
}
