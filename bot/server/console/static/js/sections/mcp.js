// MCP servers: state, switch on and off, configuration.

import { ApiError, call, get } from "../api.js";
import { formDialog } from "../dialog.js";
import { el } from "../dom.js";
import { isOwner } from "../current-user.js";
import { badge, button, actionButton, field, tableOrEmpty, toolbar } from "../components.js";
import { showStatus, showProblem } from "../section-view.js";

const HEADS = ["Server", "Description", "State", "Reason", "Tools", "Actions"];
const KINDS = { ready: "good", starting: "warn", unavailable: "bad" };
const HINT = "Secrets are shown as ***. A value left as *** is not changed.";

export async function draw(view) {
  const { servers } = await get("/api/mcp/servers");
  return [
    isOwner && toolbar(button("Edit configuration", { id: "edit", kind: "primary", press: (made) => edit(view, made) })),
    tableOrEmpty("MCP servers", HEADS, servers.map((server) => row(view, server)), "No MCP servers are configured."),
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
    actionButton(view, off ? "Switch on" : "Switch off", {
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
  const summary = el("summary", {}, `Tools: ${server.tools.length}`);
  return el("details", { id: `tools-${server.name}` }, summary, el("ul", {}, ...items));
}

async function edit(view, opener) {
  try {
    const config = await get("/api/mcp/config");
    const shown = JSON.stringify(config.mcp_servers, null, 2);
    const area = el("textarea", { className: "code", spellcheck: false, required: true, defaultValue: shown });
    const send = () => call("PUT", "/api/mcp/config", { mcp_servers: parsed(area.value) });
    if (!(await formDialog("MCP servers", [field("Servers by name, as JSON", area, HINT)], "Save", send))) return;
    showStatus("MCP configuration saved.");
    view.focus = opener.id;
    await view.load();
  } catch (error) {
    showProblem(error.message);
  }
}

function parsed(written) {
  try {
    return JSON.parse(written);
  } catch (error) {
    throw new ApiError(0, `Invalid JSON: ${error.message}`);
  }
}
