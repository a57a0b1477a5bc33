#!/usr/bin/env bash
# How long a service has been up or down, written as hours, minutes and seconds.
#
# Packages: dayjs 1.11.23, luxon 3.7.2 (the control; both npm)
# Expected: a duration has one text, whether it was given in seconds or as PT36H; a format without days has all the hours.
# Observed: what was given in seconds is split into days first, so a day is 00:00:00 and 36 hours are 12:00:00. PT36H is
#           36:00:00. `humanize` rounds 22 hours to a day and 45 days to a month. Luxon counts the hours.
# So: write `Math.floor(duration.asHours())` yourself.
set -euo pipefail
dir=$(mktemp -d); trap 'rm -rf "$dir"' EXIT
cd "$dir"; npm install --silent --no-fund --no-audit dayjs@1.11.23 luxon@3.7.2
cat > durations.cjs <<'JAVASCRIPT'
const dayjs = require("dayjs");
const { Duration } = require("luxon");

dayjs.extend(require("dayjs/plugin/duration"));
dayjs.extend(require("dayjs/plugin/relativeTime"));
console.log("dayjs", require("dayjs/package.json").version, "luxon", require("luxon/package.json").version);
const seconds = (count) => dayjs.duration(count, "seconds");
const format = (duration) => duration.format("HH:mm:ss");
for (const [name, hours, found, observed] of [
  ["5400 seconds", 1.5, format(seconds(5400)), "01:30:00"],
  ["86400 seconds", 24, format(seconds(86400)), "00:00:00"],
  ["129600 seconds", 36, format(seconds(129600)), "12:00:00"],
  ["PT36H", 36, format(dayjs.duration("PT36H")), "36:00:00"],
  ["PT2H, 17 times added", 36, format(Array(17).fill("PT2H").reduce((sum, part) => sum.add(dayjs.duration(part)),
    dayjs.duration("PT2H"))), "12:00:00"],
  ["22 hours, in words", 22, seconds(79200).humanize(), "a day"],
]) {
  const expected = Duration.fromObject({ hours }).toFormat("hh:mm:ss");
  console.log(`${name}\n  expected: ${expected}\n  observed: ${found}`);
  if (found !== observed) {
    console.log(`  CHANGED: it was ${observed}`);
    process.exitCode = 1;
  }
}
JAVASCRIPT
node durations.cjs
