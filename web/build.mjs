// Builds dist/report.html: scripts and styles inline, and a policy that lets nothing else run or
// load. `/*DATA*/` in it is the place of the report's JSON, written by src/sim/report.cpp.
import { createHash } from "node:crypto";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

const BYTES_MAX = 1_200_000;
const here = (path) => fileURLToPath(new URL(path, import.meta.url));

const shared = { bundle: true, minify: true, write: false, legalComments: "none" };
const script = await build({
  ...shared,
  entryPoints: [here("src/main.ts")],
  target: "es2022",
  format: "iife",
  charset: "utf8",
});
const style = await build({ ...shared, entryPoints: [here("src/style.css")] });

// A closing tag inside a script would end it early.
const code = script.outputFiles[0].text.trim().replaceAll("</script", "<\\/script");
const css = style.outputFiles[0].text.trim();
const hash = (text) => `'sha256-${createHash("sha256").update(text).digest("base64")}'`;
const policy = [
  "default-src 'none'",
  `script-src ${hash(code)}`,
  `style-src ${hash(css)}`,
  "img-src data:",
  "base-uri 'none'",
  "form-action 'none'",
].join("; ");

let page = readFileSync(here("src/page.html"), "utf8");
for (const [slot, text] of [["POLICY", policy], ["STYLE", css], ["SCRIPT", code]]) {
  if (page.split(`%${slot}%`).length !== 2) throw new Error(`page.html needs one %${slot}%`);
  page = page.replace(`%${slot}%`, () => text);
}
if (page.split("/*DATA*/").length !== 2) throw new Error("the page needs one /*DATA*/");
const bytes = Buffer.byteLength(page);
if (bytes > BYTES_MAX) throw new Error(`the page has ${bytes} bytes, at most ${BYTES_MAX}`);
mkdirSync(here("dist"), { recursive: true });
writeFileSync(here("dist/report.html"), page);
