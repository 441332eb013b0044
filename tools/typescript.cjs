// Lets this process run TypeScript, by tsx. Packages are JavaScript already. tsx would read each of their files to find that out,
// which nearly doubles the time to load them.
const { _extensions } = require("node:module");
const path = require("node:path");

const PACKAGES = `${path.sep}node_modules${path.sep}`;
const asJavaScript = _extensions[".js"];
require("tsx/cjs");
const byTsx = _extensions[".js"];
_extensions[".js"] = (module, file) => (file.includes(PACKAGES) ? asJavaScript : byTsx)(module, file);
