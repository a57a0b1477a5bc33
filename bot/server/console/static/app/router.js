// What the address shows: `/` and `?c=5` are the chat, `#/turns/5?state=failed` a page.

const PATH = /^#\/([a-z]+)(?:\/([^?]*))?(?:\?(.*))?$/;

/** @typedef {{name: string, rest: string, query: URLSearchParams, conversation: number | null}} Route */

/** @returns {Route} */
export function currentRoute() {
  const found = PATH.exec(location.hash);
  const conversation = Number(new URLSearchParams(location.search).get("c")) || null;
  if (!found) return { name: /^#\/./.test(location.hash) ? "unknown" : "chat", rest: "", query: new URLSearchParams(), conversation };
  return { name: found[1], rest: decodeURIComponent(found[2] || ""), query: new URLSearchParams(found[3] || ""), conversation };
}

/** The address of a conversation, or of a new one. */
export const chatAddress = (id) => (id ? `${location.pathname}?c=${id}` : location.pathname);

/** Go to an address of the console without loading the page again. */
export function go(address, { replace = false } = {}) {
  history[replace ? "replaceState" : "pushState"](null, "", address);
  dispatchEvent(new Event("route"));
}

/** Call a function now and whenever the address changes. */
export function watchRoute(changed) {
  for (const event of ["popstate", "hashchange", "route"]) addEventListener(event, changed);
  document.addEventListener("click", (event) => {
    const link = /** @type {Element} */ (event.target).closest?.("a[data-go]");
    if (!link || event.metaKey || event.ctrlKey || event.shiftKey || event.button) return;
    event.preventDefault();
    go(link.getAttribute("href"));
  });
  changed();
}
