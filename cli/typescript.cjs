// Lets a process run TypeScript: the program of a user, and our own sources.
// Lets this process run TypeScript, by tsx. Packages are JavaScript already, and Pulumi's language host takes them as they are. tsx
// would read each of their files to find that out, and Node would read where in their sources each line was, now that it does so
// for ours. That doubles the time to load them.
const { _extensions } = require("node:module");
const path = require("node:path");

const PACKAGES = `${path.sep}node_modules${path.sep}`;
const asJavaScript = _extensions[".js"];
require("tsx/cjs");
const byTsx = _extensions[".js"];
_extensions[".js"] = (module, file) => (file.includes(PACKAGES) ? loadPackage : byTsx)(module, file);

function loadPackage(module, file) {
  process.setSourceMapsEnabled(false);
  try {
    asJavaScript(module, file);
  } finally {
    process.setSourceMapsEnabled(true);
  }
}
