// Bundles the packages that the web console serves into its vendor folder: `make vendor`.
// The result depends on package-lock.json alone, and names every package in it with its licence.

import { createHash } from "node:crypto";
import { cp, mkdir, readFile, readdir, rm, writeFile } from "node:fs/promises";
import { dirname, join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

const HERE = dirname(fileURLToPath(import.meta.url));
const PACKAGES = join(HERE, "node_modules");
const TARGET = join(HERE, "../../bot/server/console/static/vendor");
const LICENSES = new Set(["MIT", "ISC", "BSD-3-Clause", "BSD-2-Clause", "Apache-2.0", "(MPL-2.0 OR Apache-2.0)", "0BSD"]);
// Packages whose licence stands in a file only.
const UNDECLARED = { khroma: "MIT" };
const ICONS = (await readFile(join(HERE, "icons.txt"), "utf8")).split("\n").filter(Boolean);

// The layout engine elk has a licence (EPL) that the others don't have. The other two are large and rarely used:
// a diagram without its code is shown as source.
const OMITTED = /(^|\/)(elk|architectureDiagram|usecaseDiagram|swimlanes)/;
const reduce = {
  name: "reduce",
  setup(plugins) {
    plugins.onResolve({ filter: OMITTED }, ({ path }) => ({ path, namespace: "omitted" }));
    plugins.onLoad({ filter: /.*/, namespace: "omitted" }, () => ({ contents: "export default class {}" }));
    plugins.onResolve({ filter: /^katex$/ }, () => ({ path: "../katex.js", external: true }));
  },
};

/** Return the folder of the package that a file belongs to. */
function packageOf(path) {
  const place = path.lastIndexOf("node_modules/") + "node_modules/".length;
  const [first, second] = path.slice(place).split("/");
  return path.slice(0, place) + (first.startsWith("@") ? `${first}/${second}` : first);
}

async function bundle(entryPoints, options) {
  const { metafile } = await build({
    absWorkingDir: HERE,
    entryPoints,
    bundle: true,
    minify: true,
    format: "esm",
    target: "es2022",
    metafile: true,
    legalComments: "none",
    logLevel: "warning",
    define: { "process.env.NODE_ENV": '"production"' },
    ...options,
  });
  return Object.keys(metafile.inputs).filter((path) => path.includes("node_modules/")).map(packageOf);
}

async function sprite() {
  const symbols = ICONS.map(async (name) => {
    const icon = await readFile(join(PACKAGES, "lucide-static/icons", `${name}.svg`), "utf8");
    const drawn = /<svg[^>]*>([\s\S]*)<\/svg>/.exec(icon)[1].replace(/\s+/g, " ").trim();
    return `<symbol id="${name}" viewBox="0 0 24 24">${drawn}</symbol>`;
  });
  const text = `<svg xmlns="http://www.w3.org/2000/svg">\n${(await Promise.all(symbols)).join("\n")}\n</svg>\n`;
  await writeFile(join(TARGET, "icons.svg"), text);
  return ["node_modules/lucide-static"];
}

async function formulas() {
  const fonts = join(PACKAGES, "katex/dist/fonts");
  await mkdir(join(TARGET, "fonts"), { recursive: true });
  for (const font of await readdir(fonts)) if (font.endsWith(".woff2")) await cp(join(fonts, font), join(TARGET, "fonts", font));
  const css = await readFile(join(PACKAGES, "katex/dist/katex.min.css"), "utf8");
  const only = css.replace(/,url\([^)]*\.(?:woff|ttf)\) format\("[a-z]+"\)/g, "");
  await writeFile(join(TARGET, "katex.css"), only);
}

/** Return what the folder holds: each file with its SHA-256. */
async function files(folder) {
  const found = {};
  for (const entry of (await readdir(folder, { recursive: true, withFileTypes: true })).filter((one) => one.isFile())) {
    const path = join(entry.parentPath, entry.name);
    found[relative(folder, path)] = createHash("sha256").update(await readFile(path)).digest("hex");
  }
  return Object.fromEntries(Object.entries(found).sort(([a], [b]) => (a < b ? -1 : 1)));
}

async function about(folder) {
  const { name, version, license } = JSON.parse(await readFile(join(HERE, folder, "package.json"), "utf8"));
  return { name, version, license: license ?? UNDECLARED[name] };
}

async function describe(used) {
  const packages = [];
  for (const folder of [...new Set(used)].sort()) {
    const { name, version, license } = await about(folder);
    if (!LICENSES.has(license)) throw new Error(`${name} ${version} has the licence ${license}`);
    packages.push({ name, version, license });
  }
  return packages;
}

async function licenses(used) {
  const texts = [];
  for (const folder of [...new Set(used)].sort()) {
    const file = (await readdir(join(HERE, folder))).find((name) => /^(licen[sc]e|copying)(\.|$|-)/i.test(name));
    const { name, version, license } = await about(folder);
    const text = file ? (await readFile(join(HERE, folder, file), "utf8")).trim() : `Licence: ${license}`;
    texts.push(`${name} ${version}\n\n${text}\n`);
  }
  await writeFile(join(TARGET, "LICENSES.txt"), texts.join("\n----\n\n"));
}

await rm(TARGET, { recursive: true, force: true });
await mkdir(TARGET, { recursive: true });
const small = ["lit", "markdown", "highlight", "katex"].map((name) => `entries/${name}.js`);
const used = [
  ...(await bundle(small, { outdir: TARGET })),
  ...(await bundle(["entries/mermaid.js"], {
    outdir: join(TARGET, "mermaid"),
    splitting: true,
    chunkNames: "[name]-[hash]",
    plugins: [reduce],
  })),
  ...(await sprite()),
];
await formulas();
for (const name of await readdir(join(HERE, "types"))) {
  await cp(join(HERE, "types", name), join(TARGET, name === "mermaid.d.ts" ? "mermaid" : "", name));
}
await licenses(used);
const listed = { lock: createHash("sha256").update(await readFile(join(HERE, "package-lock.json"))).digest("hex"), packages: await describe(used), files: await files(TARGET) };
await writeFile(join(TARGET, "vendor.json"), `${JSON.stringify(listed, null, 1)}\n`);
