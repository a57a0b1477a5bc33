#!/usr/bin/env bash
# Times of reminders in simplified Chinese, as people write them.
#
# Package: chrono-node 2.10.3 (npm)
# Expected: a text that the Chinese reader takes is read whole, or not at all; "forwardDate" changes weekdays and days without
#           a year, not what is said to be in the past.
# Observed: the front of an amount is skipped. "In an hour and a half" (一个半小时后) is half an hour, "in 120 minutes" in
#           words is 20 minutes, "Monday after next" is the next one. "12 at night" is noon, "a quarter past nine" is
#           9:01, and "five minutes ago" is tomorrow. 30分钟后, 二十五分钟后 and 凌晨12点 are right.
# So: ask whether the match covers the whole phrase (`index` and `text` of a result), and show the time before it's kept.
set -euo pipefail
dir=$(mktemp -d); trap 'rm -rf "$dir"' EXIT
cd "$dir"; npm install --silent --no-fund --no-audit chrono-node@2.10.3
cat > read.mjs <<'JAVASCRIPT'
import { readFileSync } from "node:fs";
import * as chrono from "chrono-node";

console.log("chrono-node", JSON.parse(readFileSync("node_modules/chrono-node/package.json")).version);
const now = new Date(2026, 10, 30, 10, 0);
for (const [text, expected, observed] of [
  ["30分钟后", "2026-11-30 10:30", "2026-11-30 10:30"],
  ["二十五分钟后", "2026-11-30 10:25", "2026-11-30 10:25"],
  ["一个半小时后", "2026-11-30 11:30", "2026-11-30 10:30"],
  ["一百二十分钟后", "2026-11-30 12:00", "2026-11-30 10:20"],
  ["凌晨12点", "2026-12-01 00:00", "2026-12-01 00:00"],
  ["晚上12点", "2026-12-01 00:00", "2026-11-30 12:00"],
  ["九点一刻", "2026-12-01 09:15", "2026-12-01 09:01"],
  ["下下周一", "2026-12-14 12:00", "2026-12-07 12:00"],
  ["五分钟前", "2026-11-30 09:55", "2026-12-01 09:55"],
]) {
  const [found] = chrono.zh.hans.parse(text, now, { forwardDate: true });
  const seen = found.date().toLocaleString("sv").slice(0, 16);
  console.log(`${text}\n  expected: ${expected}\n  observed: ${seen}, from ${found.text}`);
  if (seen !== observed) {
    console.log(`  CHANGED: it was ${observed}`);
    process.exitCode = 1;
  }
}
JAVASCRIPT
node read.mjs
