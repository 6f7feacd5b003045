// Prints what agent-device itself makes of each script of a folder, as one JSON object by name:
// for each caller's options the digest of its plan, or the code and the text of its refusal.
//
//     node plan_bridge.mjs PACKAGE FOLDER '[{"platform":"ios"}]'
//
// A plan is made by the package's own function, the one that a replay calls before its first
// action. It is private to its module, so the module gets one more export while it is loaded;
// nothing in it is changed. The name is that of the pinned release: another release fails here.
import { readFileSync, readdirSync } from 'node:fs';
import { registerHooks } from 'node:module';
import { join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';

const [packageFolder, scripts, callers] = process.argv.slice(2);
const module = pathToFileURL(resolve(packageFolder, 'dist/src/session2.js')).href;

registerHooks({
  load(url, context, next) {
    const loaded = next(url, context);
    if (url !== module) return loaded;
    return { ...loaded, source: `${loaded.source}\nexport { $u as planOf };\n` };
  },
});

const { planOf } = await import(module);

function judge(text, options) {
  try {
    return planOf(text, options).planDigest;
  } catch (error) {
    return `${error.code ?? error.name}: ${error.message}`;
  }
}

const plans = {};
for (const name of readdirSync(scripts)) {
  const text = readFileSync(join(scripts, name), 'utf8');
  plans[name] = JSON.parse(callers).map((options) => judge(text, options));
}
process.stdout.write(JSON.stringify(plans), () => process.exit(0));
