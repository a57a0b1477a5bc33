// The name that is proposed for an MCP server.

/** Programs that start another one, which their arguments name. */
const STARTERS = /^(npx|bunx|pnpx|uvx|uv|pipx|python[\d.]*|node|deno|docker|podman|run|tool|exec|dlx)$/;

/** The words of a command line; quotes keep spaces. */
export const words = (line) => [...line.matchAll(/"([^"]*)"|'([^']*)'|(\S+)/g)].map(([, double, single, bare]) => double ?? single ?? bare);

function ofHost(url) {
  if (!URL.canParse(url)) return "";
  const { hostname } = new URL(url);
  if (/[\d\]]$/.test(hostname)) return "local";
  // Of mcp.tracker.example, the part that says whose it is.
  const labels = hostname.split(".");
  return labels.slice(0, -1).find((label) => !["www", "mcp", "api"].includes(label)) || labels[0];
}

function ofProgram(command) {
  const parts = words(command).filter((word) => !word.startsWith("-")).map((path) => path.split(/[\\/]/).pop());
  const program = parts.find((part) => !STARTERS.test(part)) || "";
  return program.replace(/(?!^)@.*$|\.(js|mjs|py|sh|exe)$/g, "").replace(/^(mcp[_-])?server[_-]|^mcp[_-]|[_-]mcp([_-]server)?$/g, "");
}

/** A name from the host of an address or the program of a command that is not taken, "" without either. */
export function proposedName({ kind, url = "", command = "" }, taken) {
  const name = (kind === "url" ? ofHost(url) : ofProgram(command)).replace(/[^A-Za-z0-9_-]+/g, "-").replace(/^[^A-Za-z0-9]+|-+$/g, "");
  for (let number = 1; name; number += 1) {
    const free = number > 1 ? `${name}-${number}` : name;
    if (!taken.has(free)) return free;
  }
  return "";
}
