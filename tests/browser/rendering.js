// Drives the console's own Markdown view inside a page of the console.

async ({ samples }) => {
  const { MarkdownView } = await import("/static/markdown/view.js");
  const { en } = await import("/static/markdown/texts.js");
  const link = Object.assign(document.createElement("link"), { rel: "stylesheet", href: "/static/markdown/markdown.css" });
  const loaded = new Promise((resolve) => (link.onload = resolve));
  document.head.append(link);
  await loaded;
  document.body.replaceChildren();
  document.body.style.overflow = "auto";
  const views = {};

  const create = (name, kind) => {
    const box = document.createElement("div");
    box.style.maxWidth = "760px";
    document.body.append(box);
    const view = new MarkdownView(box, { t: (key) => en[key], id: `${kind}-${name}` });
    views[`${kind}-${name}`] = { box, view };
    return view;
  };

  const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

  // A repeatable generator of numbers from 0 to 1.
  const random = (seed) => () => {
    seed = (seed + 0x6d2b79f5) | 0;
    let value = Math.imul(seed ^ (seed >>> 15), 1 | seed);
    value = (value + Math.imul(value ^ (value >>> 7), 61 | value)) ^ value;
    return ((value ^ (value >>> 14)) >>> 0) / 4294967296;
  };

  const serialize = (node) => {
    if (node.nodeType === Node.TEXT_NODE) return JSON.stringify(node.data);
    const attributes = [...node.attributes].map(({ name, value }) => `${name}="${value}"`).sort();
    return `<${[node.localName, ...attributes].join(" ")}>${[...node.childNodes].map(serialize).join("")}</>`;
  };

  window.rendering = {
    views,
    samples,
    create,
    /** Render a sample as a whole. */
    whole: (name) => create(name, "whole").update(samples[name]),
    /** Render a sample as it would arrive: `size` characters every `ms`. */
    stream: async (name, size, ms) => {
      const view = create(name, "streamed");
      const begin = performance.now();
      const source = samples[name];
      for (let at = 0; at < source.length; ) {
        at = Math.max(at + size, Math.floor(((performance.now() - begin) / ms) * size));
        view.update(source.slice(0, at), { growing: true });
        await pause(ms);
      }
      view.update(source);
    },
    /** Render a sample in `count` random pieces, at once. */
    split: (name, kind, count, seed) => {
      const view = create(name, kind);
      const next = random(seed);
      const source = samples[name];
      const cuts = Array.from({ length: count }, () => Math.floor(next() * source.length)).sort((a, b) => a - b);
      for (const cut of cuts) {
        view.update(source.slice(0, cut), { growing: true });
        view.flush();
      }
      view.update(source);
    },
    drop: (key) => {
      views[key].view.close();
      views[key].box.remove();
      delete views[key];
    },
    /** What is shown, without what differs between two views: ids, the addresses of pictures, the order of attributes. */
    html: (key) => serialize(views[key].box).replaceAll(key, "ID").replace(/blob:[^"]+/g, "BLOB"),
    /** True once formulas, highlighting and diagrams are there. */
    isIdle: (key) => {
      const { box } = views[key];
      const diagrams = [...box.querySelectorAll(".diagram")];
      const formulas = [...box.querySelectorAll(".math")].filter((one) => one.textContent.length <= 5000);
      const known = [...box.querySelectorAll("code.language-python, code.language-json")];
      return (
        diagrams.every((one) => one.classList.contains("invalid") || one.querySelector("img")?.complete) &&
        formulas.every((one) => one.classList.contains("invalid") || one.querySelector(".katex")) &&
        known.every((one) => one.querySelector("[class^=hljs]") || !one.textContent.trim())
      );
    },
    /** What the selectors find: a number of elements, or their texts, or the values of an attribute. */
    find: (key, selectors) => {
      const { box } = views[key];
      const clean = (text) => text.replace(/\s+/g, " ").trim();
      return Object.fromEntries(
        selectors.map((selector) => {
          const [css, attribute] = selector.split("@");
          const found = css === ":root" ? [box] : [...box.querySelectorAll(css)];
          return [selector, found.map((one) => (attribute ? one.getAttribute(attribute) : clean(one.textContent)))];
        }),
      );
    },
  };
};
