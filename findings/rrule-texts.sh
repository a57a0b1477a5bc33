#!/usr/bin/env bash
# Recurrence rules as sentences, and sentences as rules, in JavaScript.
#
# Package: rrule 2.8.1 (npm)
# Expected: where `isFullyConvertibleToText()` is true, the text has the whole rule; a sentence that can't be read whole is
#           an error, as "every other friday" is.
# Observed: texts leave out minutes, BYSETPOS, and hours beside weekdays or minutes, so the last working day of the month
#           is "every month on weekdays", with the promise that it's complete. Sentences lose their end in silence: "at
#           9:30" is "at 9", "for 3 weeks" three times, "every weekend" each week.
# So: show the next dates, never the text alone, and accept a sentence only if its rule gives the same sentence.
set -euo pipefail
dir=$(mktemp -d); trap 'rm -rf "$dir"' EXIT
cd "$dir"; npm install --silent --no-fund --no-audit rrule@2.8.1
cat > texts.cjs <<'JAVASCRIPT'
const { RRule } = require("rrule");

console.log("rrule", require("./node_modules/rrule/package.json").version);
function check(name, expected, seen, observed) {
  console.log(`${name}\n  expected: ${expected}\n  observed: ${seen}`);
  if (seen !== observed) {
    console.log(`  CHANGED: it was ${observed}`);
    process.exitCode = 1;
  }
}
for (const [rule, expected, observed] of [
  ["FREQ=MONTHLY;BYDAY=-1FR", "every month on the last Friday", "every month on the last Friday"],
  ["FREQ=MONTHLY;BYDAY=MO,TU,WE,TH,FR;BYSETPOS=-1", "every month on the last weekday", "every month on weekdays"],
  ["FREQ=MONTHLY;BYDAY=MO;BYSETPOS=1", "every month on the 1st Monday", "every month on Monday"],
  ["FREQ=DAILY;BYHOUR=9;BYMINUTE=30", "every day at 9:30", "every day at 9"],
  ["FREQ=WEEKLY;BYDAY=MO,TU,WE,TH,FR;BYHOUR=9", "every weekday at 9", "every weekday"],
  ["FREQ=MINUTELY;INTERVAL=15;BYHOUR=9,10", "every 15 minutes at 9 and 10", "every 15 minutes"],
]) {
  const found = RRule.fromString(rule);
  check(rule, `${expected}, or not complete`, `${found.toText()}, complete: ${found.isFullyConvertibleToText()}`,
    `${observed}, complete: true`);
}
for (const [sentence, expected, observed] of [
  ["every 2 weeks on Friday", "INTERVAL=2;FREQ=WEEKLY;BYDAY=FR", "INTERVAL=2;FREQ=WEEKLY;BYDAY=FR"],
  ["every day at 9:30", "FREQ=DAILY;BYHOUR=9;BYMINUTE=30", "FREQ=DAILY;BYHOUR=9"],
  ["every day for 3 weeks", "FREQ=DAILY;COUNT=21", "FREQ=DAILY;COUNT=3"],
  ["every weekend", "FREQ=WEEKLY;BYDAY=SA,SU", "FREQ=WEEKLY"],
  ["every day in January on Sunday", "FREQ=DAILY;BYMONTH=1;BYDAY=SU", "FREQ=DAILY"],
]) {
  check(sentence, `${expected}, or an error`, RRule.fromText(sentence).toString().replace("RRULE:", ""), observed);
}
JAVASCRIPT
node texts.cjs
