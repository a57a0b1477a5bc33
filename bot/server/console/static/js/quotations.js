// What people forwarded, quoted or shared: shown as the words of others, and inserted as text.

import { el } from "./dom.js";

const TITLES = { forward: "Forwarded", quote: "Quoted", shared: "Shared", reply: "In reply to" };

/** Return a block for each quotation of a message. */
export function quotations(message) {
  return (message.quotations || []).map((one) => {
    const author = one.author || one.author_id;
    const title = author ? `${TITLES[one.kind]}: ${author}` : TITLES[one.kind];
    return el(
      "blockquote",
      { className: "quoted" },
      el("p", { className: "by" }, title),
      el("p", { className: "words" }, one.text || one.files.join(", ") || "(no text)"),
    );
  });
}

/** Return the text of a message for a list: own words, or else the quoted ones. */
export function summary(message) {
  const quoted = (message.quotations || []).map((one) => `> ${one.text}`);
  return message.text || quoted.join(" ");
}
