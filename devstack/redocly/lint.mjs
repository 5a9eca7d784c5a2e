// Holds a document against Redocly's recommended rules and more; each problem is an error.
//
// node lint.mjs openapi.json

import { readFile } from "node:fs/promises";
import core from "@redocly/openapi-core";

// What the rules refuse and the document keeps: rule, place, and the reason. One that is no longer
// met is a fault too.
const EXCEPTIONS = [
  {
    rule: "operation-4xx-response",
    place: "#/paths/~1v1~1openapi.json/get/responses",
    reason: "It needs no key and takes no parameter: there is nothing that it could refuse.",
  },
];

// Rules that the recommended set leaves out.
const MORE = [
  "component-name-unique",
  "no-required-schema-properties-undefined",
  "operation-description",
  "operation-tag-defined",
  "parameter-description",
];

const [path] = process.argv.slice(2);
const rules = Object.fromEntries(MORE.map((rule) => [rule, "error"]));
const config = await core.createConfig({ extends: ["recommended-strict"], rules });
const problems = (await core.lint({ ref: path, config })).map(({ ruleId, message, location }) => ({
  rule: ruleId,
  place: location[0]?.pointer ?? "#/",
  message: message.split("\n")[0],
}));
const meets = (problem) => (exception) =>
  exception.rule === problem.rule && exception.place === problem.place;
const faults = problems.filter((problem) => !EXCEPTIONS.some(meets(problem)));
const stale = EXCEPTIONS.filter((exception) => !problems.some((one) => meets(one)(exception)));

for (const { rule, place, message } of faults) console.log(`${place}: ${message} (${rule})`);
for (const { rule, place } of stale) console.log(`${place}: nothing to except (${rule})`);
const kept = Object.values(config.styleguide.rules.oas3_1).filter((level) => level === "error");
const paths = JSON.parse(await readFile(path)).paths;
const operations = Object.values(paths).flatMap(Object.values);
console.log(
  `${kept.length} rules on ${operations.length} operations, ${EXCEPTIONS.length} exception(s)`,
);
process.exitCode = faults.length || stale.length || !operations.length ? 1 : 0;
