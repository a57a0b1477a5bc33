// The theme, kept in the browser; theme.js applies it before the first paint.

const KEY = "roebot.theme";

export const theme = () => /** @type {"system" | "light" | "dark"} */ (localStorage.getItem(KEY) || "system");

/** @param {"system" | "light" | "dark"} name */
export function setTheme(name) {
  if (name === "system") {
    localStorage.removeItem(KEY);
    delete document.documentElement.dataset.theme;
  } else {
    localStorage.setItem(KEY, name);
    document.documentElement.dataset.theme = name;
  }
  dispatchEvent(new Event("theme"));
}
