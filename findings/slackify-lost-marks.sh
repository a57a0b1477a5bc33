#!/usr/bin/env bash
# Checklists and line breaks of a Markdown answer, converted to the markup of Slack.
#
# Package: slackify-markdown 4.5.0 (npm)
# Expected: it reads GitHub's Markdown, so what Slack has no mark for stays readable: [x] and [ ] of a task, and a line that
#           ends with two spaces is a line.
# Observed: done and open items are the same. The two spaces become a backslash that people see, and a rule three stars.
# So: replace task items, hard breaks and rules by text before the conversion.
set -euo pipefail
dir=$(mktemp -d); trap 'rm -rf "$dir"' EXIT
cd "$dir"; npm install --silent --no-fund --no-audit slackify-markdown@4.5.0
cat > convert.cjs <<'JAVASCRIPT'
const slackify = require("slackify-markdown");

const convert = slackify.slackifyMarkdown ?? slackify.default ?? slackify;
console.log("slackify-markdown", require("./node_modules/slackify-markdown/package.json").version);
for (const [markdown, expected, observed] of [
  ["- [x] drained\n- [ ] rebooted", "•   [x] drained\n•   [ ] rebooted", "•   drained\n•   rebooted"],
  ["web-1  \nweb-2", "web-1\nweb-2", "web-1\\\nweb-2"],
  ["a\n\n---\n\nb", "a\n\n---\n\nb", "a\n\n***\n\nb"],
  ["1. a\n2. b", "1.  a\n2.  b", "1.  a\n2.  b"],
]) {
  const seen = convert(markdown).trimEnd();
  const [input, wanted, found] = [markdown, expected, seen].map((text) => JSON.stringify(text));
  console.log(`${input}\n  expected: ${wanted}\n  observed: ${found}`);
  if (seen !== observed) {
    console.log(`  CHANGED: it was ${JSON.stringify(observed)}`);
    process.exitCode = 1;
  }
}
JAVASCRIPT
node convert.cjs
