// Returns what is wrong with the layout of the page, or of the dialog, menu or sidebar that is open: evaluated by layout.py.
() => {
  const inner = document.querySelector(".menu:popover-open") || [...document.querySelectorAll("dialog[open]")].at(-1) || document.querySelector(".hints:not([hidden]), .side-open .side");
  const root = inner || document.body;
  window.measured = inner || document;
  const within = [root, ...root.querySelectorAll("*")].filter((one) => !one.closest("svg, iframe, .sr, .skip, .katex, .toasts, script, template") && getComputedStyle(one).clipPath !== "inset(50%)");
  const visible = (one) => one.checkVisibility({checkOpacity: true, checkVisibilityCSS: true});
  const label = (one) => `${one.tagName.toLowerCase()}.${[...one.classList].join(".")} ${(one.textContent || "").trim().replace(/\s+/g, " ").slice(0, 40)}`;
  const found = new Set();
  const {clientWidth, scrollWidth} = document.documentElement;
  if (scrollWidth > clientWidth) found.add(`scrolls sideways by ${scrollWidth - clientWidth}`);
  if (inner) {
    const {left, right, top, bottom} = inner.getBoundingClientRect();
    if (left < -1 || top < -1 || right > innerWidth + 1 || bottom > innerHeight + 1) found.add(`not within the window: ${label(inner)}`);
  }
  // Asked for again and again, and changed by nothing that happens here.
  const cached = (find, known = new Map()) => (one) => known.get(one) ?? (known.set(one, find(one)), known.get(one));
  const shown = cached(visible);
  const flows = cached((one) => {
    const {overflow, overflowX, overflowY, lineHeight, position, pointerEvents} = getComputedStyle(one);
    return {overflow, overflowX, overflowY, lineHeight, position, pointerEvents};
  });
  const scrollable = (value) => value === "auto" || value === "scroll";
  const scrolls = (one) => {
    for (let up = one.parentElement; up; up = up.parentElement) if (scrollable(flows(up).overflowX) && up.scrollWidth > up.clientWidth) return true;
    return false;
  };
  // What lies sideways is meant to: code, wide tables, formulas, and fields.
  const WIDE = ".scrolls, .table, pre, input, textarea, select, .katex-display, .drawing";
  for (const one of within) {
    if (!shown(one)) continue;
    const box = one.getBoundingClientRect();
    if (!box.width || !box.height) continue;
    const {overflowX, overflowY, lineHeight} = flows(one);
    const wide = one.scrollWidth > one.clientWidth + 1;
    const high = one.scrollHeight > one.clientHeight + Math.max(4, parseFloat(lineHeight) / 2 || 8);
    if (wide && scrollable(overflowX) && !one.matches(WIDE)) found.add(`scrolls sideways: ${label(one)}`);
    const cut = (wide && overflowX !== "visible" && !scrollable(overflowX)) || (high && overflowY !== "visible" && !scrollable(overflowY));
    const way = one.closest("[title]") || one.matches("input, select, textarea");
    if (cut && !way && one.textContent.trim()) found.add(`cut: ${label(one)}`);
    if ((box.right > innerWidth + 1 || box.left < -1) && box.left < innerWidth && box.right > 0 && !scrolls(one)) found.add(`beyond the edge: ${label(one)}`);
  }
  /** The point where an element or text should be seen, null if it is scrolled or clipped away. */
  const point = (one, {left, right, top, bottom}) => {
    const [x, y] = [(left + right) / 2, (top + bottom) / 2];
    if (x < 0 || y < 0 || x >= innerWidth || y >= innerHeight || right - left < 2) return null;
    for (let up = one; up; up = up.parentElement) {
      if (flows(up).overflow === "visible") continue;
      const place = up.getBoundingClientRect();
      // Edges lie between pixels: what stands beside gets the pixel.
      if (y > place.bottom - 1 || y < place.top || x > place.right - 1 || x < place.left) return null;
    }
    return [x, y];
  };
  const sticky = (one) => {
    for (let up = one; up && up !== root; up = up.parentElement) if (flows(up).position === "sticky") return up;
    return null;
  };
  const look = (one, box, kind) => {
    const at = point(one, box);
    const top = at && document.elementFromPoint(...at);
    if (!top || one.contains(top) || top.contains(one) || top.closest("label")?.control === one || top.closest("label")?.contains(one)) return;
    // A row is a link as a whole; what scrolls goes under a head that stays.
    // Messages that pass, and the button that scrolls down, may lie above what is scrolled.
    if (top.closest(".row-link, .toasts, .down") || !shown(top) || (sticky(top) && !sticky(top).contains(one)) || flows(one).pointerEvents === "none") return;
    found.add(`${kind} covered: ${label(one)} by ${label(top)}`);
  };
  const lookAll = (all) => {
    for (const one of all) {
      if (one.matches("a[href], button, input, select, textarea, summary")) look(one, one.getBoundingClientRect(), "control");
      for (const node of one.childNodes) {
        if (node.nodeType !== Node.TEXT_NODE || !node.data.trim()) continue;
        const range = document.createRange();
        range.selectNodeContents(node);
        for (const line of [...range.getClientRects()].slice(0, 3)) look(one, line, "text");
      }
    }
  };
  const seen = within.filter(shown);
  lookAll(seen);
  // What is scrolled away is looked at, too.
  for (const box of seen.filter((one) => scrollable(flows(one).overflowY) && one.scrollHeight > one.clientHeight + 20 && one.clientHeight > 100)) {
    const before = box.scrollTop;
    const inside = seen.filter((one) => box.contains(one));
    for (let step = 1; step <= 6 && (step - 1) * box.clientHeight < box.scrollHeight; step += 1) {
      box.scrollTop = step * box.clientHeight * 0.9;
      lookAll(inside);
    }
    box.scrollTop = before;
  }
  const raw = /-100\d{6,}|\b\d{9,}\b|[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}|\b(?:telegram|slack|discord|feishu|web):\w/;
  const tell = (text, one) => raw.test(text || "") && found.add(`raw id: ${text.trim().slice(0, 60)} in ${one.tagName.toLowerCase()}`);
  for (const one of within) {
    if (!shown(one) || one.closest(".markdown, .numbered, pre, textarea, code")) continue;
    for (const node of one.childNodes) if (node.nodeType === Node.TEXT_NODE) tell(node.data, one);
    for (const name of ["title", "aria-label", "placeholder"]) tell(one.getAttribute(name), one);
  }
  return [...found];
}
