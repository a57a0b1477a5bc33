// Returns what is wrong with the layout of the page: evaluated by layout.py.
() => {
  const shown = (one) => one.checkVisibility({checkOpacity: true, checkVisibilityCSS: true});
  const label = (one) => `${one.tagName.toLowerCase()}.${[...one.classList].join(".")} ${(one.textContent || "").trim().slice(0, 40)}`;
  const root = document.documentElement;
  const found = [];
  if (root.scrollWidth > root.clientWidth) found.push(`scrolls sideways by ${root.scrollWidth - root.clientWidth}`);
  const scrolls = (one) => {
    for (let up = one.parentElement; up; up = up.parentElement) {
      const {overflowX} = getComputedStyle(up);
      if ((overflowX === "auto" || overflowX === "scroll") && up.scrollWidth > up.clientWidth) return true;
    }
    return false;
  };
  for (const one of document.querySelectorAll("body *")) {
    if (!shown(one) || one.closest("svg, .sr, .skip, iframe")) continue;
    const box = one.getBoundingClientRect();
    if (!box.width || !box.height) continue;
    const style = getComputedStyle(one);
    const cut = one.scrollWidth > one.clientWidth + 1 && style.overflowX !== "auto" && style.overflowX !== "scroll"
      && style.overflowX !== "visible";
    const way = one.title || one.closest("[title]") || one.tagName === "INPUT" || one.tagName === "SELECT";
    if (cut && !way && one.textContent.trim()) found.push(`cut: ${label(one)}`);
    if (box.right > innerWidth + 1 && box.left < innerWidth && !scrolls(one)) found.push(`beyond the edge: ${label(one)}`);
  }
  for (const one of document.querySelectorAll("a[href], button, input, select, textarea, summary")) {
    if (!shown(one) || one.closest(".sr, .skip")) continue;
    const {left, right, top, bottom} = one.getBoundingClientRect();
    if (right < 1 || left > innerWidth || bottom < 1 || top > innerHeight || right - left < 2) continue;
    const at = document.elementFromPoint((left + right) / 2, (top + bottom) / 2);
    if (!at || one.contains(at) || at.contains(one) || at.closest("label")?.control === one) continue;
    if (one.closest("dialog, .menu") || !document.querySelector("dialog[open]")) {
      let clip = one.parentElement;
      let hidden = false;
      for (; clip; clip = clip.parentElement) {
        const place = clip.getBoundingClientRect();
        const flow = getComputedStyle(clip).overflow;
        if (flow !== "visible" && ((top + bottom) / 2 > place.bottom || (top + bottom) / 2 < place.top
          || (left + right) / 2 > place.right || (left + right) / 2 < place.left)) hidden = true;
      }
      if (!hidden) found.push(`covered: ${label(one)} by ${label(at)}`);
    }
  }
  const words = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  const raw = /-100\d{6,}|\b\d{9,}\b|[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}|\b(?:telegram|slack|discord|feishu|web):\w/;
  for (let node = words.nextNode(); node; node = words.nextNode()) {
    const holder = node.parentElement;
    if (raw.test(node.data) && shown(holder) && !holder.closest("script, .markdown, pre, textarea")) found.push(`raw id: ${node.data.trim().slice(0, 60)}`);
  }
  return [...new Set(found)];
}
