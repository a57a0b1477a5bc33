#!/usr/bin/env bash
# Two columns with semicolons, as Excel saves a CSV file in Germany or France, parsed in JavaScript.
#
# Package: papaparse 5.7.1 (npm)
# Expected: the delimiter is found, as it is for three columns; whether the last line ends with a newline, as it does in
#           files that Excel writes, makes no difference to it.
# Observed: with the newline, the empty rest after it counts as a line of one field, and two columns are then too few on
#           average. The file is split at commas: amounts are cut at the decimal comma, and their cents are in
#           `__parsed_extra`. There is a message "UndetectableDelimiter" in `errors`, beside the rows.
# So: pass skipEmptyLines: true, which changes the detection too, and treat that message as a failure.
set -euo pipefail
dir=$(mktemp -d); trap 'rm -rf "$dir"' EXIT
cd "$dir"; npm install --silent --no-fund --no-audit papaparse@5.7.1
cat > read.cjs <<'JAVASCRIPT'
const papa = require("papaparse");

console.log("papaparse", require("papaparse/package.json").version);
const two = "name;amount\nAnn;1,50\nBob;2,75";
const three = "name;city;amount\nAnn;Rome;1,50\nBob;Kyiv;2,75";
for (const [name, text, settings, expected, observed] of [
  ["two columns", two, {}, ["Bob", "2,75"], ["Bob", "2,75"]],
  ["two columns and a newline", `${two}\n`, {}, ["Bob", "2,75"], ["Bob;2", "75"]],
  ["two columns and a newline, skipEmptyLines", `${two}\n`, { skipEmptyLines: true }, ["Bob", "2,75"], ["Bob", "2,75"]],
  ["three columns and a newline", `${three}\n`, {}, ["Bob", "Kyiv", "2,75"], ["Bob", "Kyiv", "2,75"]],
]) {
  const { data, errors } = papa.parse(text, settings);
  const [wanted, seen] = [expected, data[2]].map((row) => JSON.stringify(row));
  console.log(`${name}\n  expected: ${wanted}\n  observed: ${seen}, errors: ${errors.map((error) => error.code)}`);
  if (seen !== JSON.stringify(observed)) {
    console.log(`  CHANGED: it was ${JSON.stringify(observed)}`);
    process.exitCode = 1;
  }
}
JAVASCRIPT
node read.cjs
