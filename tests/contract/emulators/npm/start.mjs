// Starts the Slack service of vercel-labs/emulate (npm package "emulate", Apache-2.0) until stdin ends.
//
// Arguments: the folder of the installed package, and its seed as JSON. The seed also has `port`, and `events`, the
// URL that gets events. Two things that Slack does have no option there, so this script finds the package's plug-in
// for Slack among the built files and adds them:
// - the subscription of a URL to events;
// - arguments in the query, by GET and POST, as Slack's SDK for Python sends most of them: it reads bodies only.
import { readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

const [, , folder, settings] = process.argv;
const { port, events, ...seed } = JSON.parse(settings);
const built = join(folder, "dist");
const load = (name) => import(pathToFileURL(join(built, name)).href);
const isSlack = (name) => /^dist-.*\.js$/.test(name) && readFileSync(join(built, name), "utf8").includes("slackPlugin");

const { slackPlugin } = await load(readdirSync(built).find(isSlack));
const { register } = slackPlugin;
slackPlugin.register = (app, store, webhooks, ...rest) => {
  webhooks.register({ url: events, events: ["*"], active: true, owner: "slack" });
  app.use("*", async (context, next) => {
    const url = new URL(context.req.url);
    const body = url.search.slice(1);
    if (!url.pathname.startsWith("/api/") || !body) return next();
    const headers = {
      Authorization: context.req.header("Authorization") ?? "",
      "Content-Type": "application/x-www-form-urlencoded",
    };
    url.search = "";
    return app.fetch(new Request(url, { method: "POST", headers, body }));
  });
  return register(app, store, webhooks, ...rest);
};

const { createEmulator } = await load("api.js");
const baseUrl = `http://127.0.0.1:${port}`;
const emulator = await createEmulator({ service: "slack", port, baseUrl, seed: { slack: seed } });
console.log("ready");
process.stdin.resume();
process.stdin.on("end", async () => {
  await emulator.close();
  process.exit(0);
});
