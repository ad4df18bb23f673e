// Bundles Vega and Vega-Lite into one file for the report's page, with the licences of all that goes in.
import { build } from "esbuild";
import { existsSync, readFileSync, readdirSync, writeFileSync } from "node:fs";

const out = "../ontogeny/report/web/";
const { metafile } = await build({
  entryPoints: ["vega.js"],
  outfile: `${out}vega.js`,
  bundle: true,
  minify: true,
  format: "iife",
  legalComments: "none",
  metafile: true,
});
const packages = new Set(
  Object.keys(metafile.inputs)
    .map((path) => /^(.*node_modules\/(?:@[^/]+\/)?[^/]+)\//.exec(path)?.[1])
    .filter(Boolean),
);
const texts = [...packages].sort().map((folder) => {
  const { name, version, license } = JSON.parse(readFileSync(`${folder}/package.json`));
  const file = existsSync(folder) && readdirSync(folder).find((each) => /^licen[cs]e/i.test(each));
  return `${name} ${version} (${license})\n\n${file ? readFileSync(`${folder}/${file}`, "utf8").trim() : ""}\n`;
});
writeFileSync(`${out}vega.LICENSES.txt`, texts.join(`\n${"-".repeat(80)}\n\n`));
