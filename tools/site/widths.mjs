// Fails if a page of the built site is wider than its screen. Needs Chrome or Chromium: without one it says so, and only CI fails.
import { spawn, spawnSync } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from "node:fs";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import path from "node:path";

const WIDTHS = [390, 768, 1440];
const DIST = path.join(import.meta.dirname, "dist");
const BASE = process.env.ARGOSY_SITE_BASE ?? "/";
const TYPES = { html: "text/html", js: "text/javascript", css: "text/css", svg: "image/svg+xml" };
const BROWSERS = [process.env.CHROME, "google-chrome", "chromium", "chromium-browser"];

/** Shows each page in a frame of each width, and sends home how wide it is. */
async function measure(pages, widths) {
  const found = [];
  for (const width of widths) {
    const frame = document.createElement("iframe");
    frame.style = `border: 0; height: 800px; width: ${width}px`;
    document.body.append(frame);
    for (const page of pages) {
      await new Promise((resolve) => {
        frame.onload = resolve;
        frame.src = page;
      });
      await frame.contentDocument.fonts.ready;
      const { scrollWidth } = frame.contentDocument.documentElement;
      if (scrollWidth > width) found.push(`${page} is ${scrollWidth} px wide on a screen of ${width} px`);
    }
    frame.remove();
  }
  await fetch("/found", { method: "POST", body: JSON.stringify(found) });
}

const browser = BROWSERS.find((name) => name && spawnSync(name, ["--version"]).status === 0);
if (browser === undefined) {
  console.log("The widths of the pages are not checked: there is no Chrome or Chromium. CHROME names one.");
  process.exit(process.env.CI ? 1 : 0);
}

const pages = readdirSync(DIST, { recursive: true })
  .filter((file) => file.endsWith(".html"))
  .map((file) => `${BASE}${file}`);
const profile = mkdtempSync(path.join(tmpdir(), "argosy-site-"));
const server = createServer((request, response) => {
  const { pathname } = new URL(request.url ?? "/", "http://localhost");
  if (request.method === "POST") {
    request.setEncoding("utf8").on("data", (text) => end(JSON.parse(text)));
    return;
  }
  if (pathname === "/measure") {
    response.setHeader("content-type", TYPES.html);
    response.end(`<body><script>(${measure})(${JSON.stringify(pages)}, ${JSON.stringify(WIDTHS)})</script>`);
    return;
  }
  const file = path.join(DIST, pathname.slice(BASE.length - 1));
  const isFile = statSync(file, { throwIfNoEntry: false })?.isFile();
  response.writeHead(isFile ? 200 : 404, {
    "content-type": TYPES[path.extname(file).slice(1)] ?? "text/plain",
  });
  response.end(isFile ? readFileSync(file) : "");
}).listen(0, "127.0.0.1", () => {
  const address = `http://127.0.0.1:${server.address().port}/measure`;
  const options = ["--headless", "--no-sandbox", "--disable-gpu", `--user-data-dir=${profile}`];
  child = spawn(browser, [...options, "--window-size=1500,900", address], { stdio: "ignore" });
});
let child;
const limit = setTimeout(() => end(["The browser gave no widths within five minutes."]), 300_000);

function end(found) {
  clearTimeout(limit);
  server.close();
  server.closeAllConnections();
  child.once("exit", () => {
    rmSync(profile, { recursive: true, force: true });
    for (const line of found) console.error(line);
    console.log(`${pages.length} pages at ${WIDTHS.join(", ")} px: ${found.length} are too wide`);
    process.exitCode = found.length > 0 ? 1 : 0;
  });
  child.kill();
}
