// Calls of the JavaScript SDK: reads a call as a line of JSON, and writes its items, then its value or error.
// Arguments: a folder with node_modules, and the address of a server. LANGGRAPH_API_KEY is the API key.
import { createRequire } from "node:module";
import { createInterface } from "node:readline";

const [folder, apiUrl] = process.argv.slice(2);
const { Client } = createRequire(`${folder}/package.json`)("@langchain/langgraph-sdk");
const client = new Client({
  apiUrl,
  apiKey: process.env.LANGGRAPH_API_KEY,
  callerOptions: { maxRetries: 0 },
  // The reference closes a connection after an error of its own, and the next request on it would fail.
  defaultHeaders: { connection: "close" },
});
const objects = new Map([[0, client]]);
const streams = new Map();

const print = (answer) => process.stdout.write(`${JSON.stringify(answer)}\n`);

function start({ id, on = 0, path, args }, runs) {
  const options = args.at(-1);
  if (options?.onRunCreated) options.onRunCreated = (run) => runs.push(run);
  if (streams.has(id)) options.signal = streams.get(id).signal;
  const owner = path.slice(0, -1).reduce((parent, name) => parent[name], objects.get(on));
  const member = owner[path.at(-1)];
  return typeof member === "function" ? member.apply(owner, args) : member;
}

async function call(request) {
  const { id, items, pick, keep } = request;
  const runs = [];
  try {
    if (items && !request.on) streams.set(id, new AbortController());
    const found = start(request, runs);
    if (keep) objects.set(id, found);
    if (items) for await (const item of found) print({ id, item: pick ? await item[pick] : item });
    print({ id, value: keep || items ? null : await found, runs });
  } catch (error) {
    const { status, code, message } = error;
    print({ id, error: { name: error.constructor.name, message, status, code }, runs });
  } finally {
    streams.delete(id);
  }
}

for await (const line of createInterface({ input: process.stdin })) {
  const request = JSON.parse(line);
  if (request.abort) streams.get(request.abort)?.abort();
  else call(request);
}
process.exit(0);
