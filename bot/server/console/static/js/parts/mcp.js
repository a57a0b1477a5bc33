// MCP servers: how they do, on and off, and their configuration.

import { ApiError, call, get } from "../api.js";
import { form } from "../dialog.js";
import { el } from "../dom.js";
import { owner } from "../me.js";
import { badge, button, deed, field, listing, toolbar } from "../pieces.js";
import { tell, warn } from "../view.js";

const HEADS = ["Server", "What it is for", "State", "Why", "Tools", "Actions"];
const KINDS = { ready: "good", starting: "warn", unavailable: "bad" };
const HINT = "Secrets are shown as ***; what stays as it is shown keeps its value.";

export async function draw(view) {
  const { servers } = await get("/api/mcp/servers");
  return [
    owner && toolbar(button("Edit the configuration", { id: "edit", kind: "primary", press: (made) => edit(view, made) })),
    listing("MCP servers", HEADS, servers.map((server) => row(view, server)), "No MCP servers are configured."),
  ];
}

function row(view, server) {
  const off = server.state === "off";
  return [
    server.name,
    server.description || "",
    badge(server.state, KINDS[server.state]),
    server.detail || "",
    tools(server),
    deed(view, off ? "Switch on" : "Switch off", {
      id: `switch-${server.name}`,
      about: server.name,
      work: () => call("PUT", `/api/mcp/servers/${encodeURIComponent(server.name)}`, { enabled: off }),
      done: `${server.name} is ${off ? "on" : "off"}.`,
    }),
  ];
}

function tools(server) {
  if (!server.tools.length) return "";
  const items = server.tools.map((tool) =>
    el("li", {}, el("strong", {}, tool.name), tool.description ? `: ${tool.description}` : ""),
  );
  const summary = el("summary", {}, `${server.tools.length} tools`);
  return el("details", { id: `tools-${server.name}` }, summary, el("ul", {}, ...items));
}

async function edit(view, opener) {
  try {
    const config = await get("/api/mcp/config");
    const shown = JSON.stringify(config.mcp_servers, null, 2);
    const area = el("textarea", { className: "code", spellcheck: false, required: true, defaultValue: shown });
    const send = () => call("PUT", "/api/mcp/config", { mcp_servers: parsed(area.value) });
    if (!(await form("MCP servers", [field("Servers by name, as JSON", area, HINT)], "Save", send))) return;
    tell("The servers are saved.");
    view.focus = opener.id;
    await view.load();
  } catch (error) {
    warn(error.message);
  }
}

function parsed(written) {
  try {
    return JSON.parse(written);
  } catch (error) {
    throw new ApiError(0, `This is no JSON: ${error.message}`);
  }
}
