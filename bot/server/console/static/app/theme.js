// Applies the chosen theme before the first paint: a classic script in the head.

(() => {
  const theme = localStorage.getItem("roebot.theme");
  if (theme === "light" || theme === "dark") document.documentElement.dataset.theme = theme;
})();
