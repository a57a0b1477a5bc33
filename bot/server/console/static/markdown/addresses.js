// Which addresses a message may link to.

/** Return an address that a link may have: web, mail or a page of the console; "" for any other. */
export function webAddress(href) {
  return /^(?:https?:\/\/[^/]|mailto:[^/])/i.test(href) || /^#\/[\w/.-]*$/.test(href) ? href : "";
}
