// Holds a document against all of Spectral's rules for OpenAPI; each problem is an error.
//
// node lint.mjs openapi.json

import { readFile } from "node:fs/promises";
import core from "@stoplight/spectral-core";
import rulesets from "@stoplight/spectral-rulesets";

// What the rules refuse and the document keeps, each with its reason.
const EXCEPTIONS = {
  "info-contact": "The installation knows who serves the document, the project does not.",
  "license-url": "The licence has its identifier, which OpenAPI 3.1 takes in place of an address.",
  "openapi-tags-alphabetical": "The tags are in the order in which a reader meets them.",
};

const [path] = process.argv.slice(2);
const document = JSON.parse(await readFile(path));
const spectral = new core.Spectral();
spectral.setRuleset({ extends: [[rulesets.oas, "all"]] });
const problems = await spectral.run(document);
const faults = problems.filter(({ code }) => !(code in EXCEPTIONS));
const found = new Set(problems.map(({ code }) => code));
const stale = Object.keys(EXCEPTIONS).filter((code) => !found.has(code));

for (const { code, path, message } of faults) console.log(`${path.join("/")}: ${message} (${code})`);
for (const code of stale) console.log(`nothing to except (${code})`);
const rules = Object.values(spectral.ruleset.rules).filter((rule) => rule.enabled).length;
const operations = Object.values(document.paths).flatMap(Object.values).length;
console.log(`${rules} rules on ${operations} operations`);
process.exitCode = faults.length || stale.length || !operations || !rules ? 1 : 0;
