const COMMANDS: Readonly<Record<string, () => { main(args: readonly string[]): Promise<void> }>> = {
  start: () => require("./start") as typeof import("./start"),
  dev: () => require("./dev") as typeof import("./dev"),
  render: () => require("./render") as typeof import("./render"),
};

/** `argosy <command> [arguments]`. */
async function main([name = "", ...args]: readonly string[]): Promise<void> {
  const command = COMMANDS[name];
  if (!command) {
    process.stderr.write(`usage: argosy <${Object.keys(COMMANDS).join("|")}> [arguments]\n`);
    process.exitCode = 2;
    return;
  }
  require("tsx/cjs");
  await command().main(args);
}

main(process.argv.slice(2)).catch((error: unknown) => {
  const { exitCode, message, stack } = error as { exitCode?: number; message: string; stack?: string };
  const text = exitCode === undefined ? stack : message;
  if (text) process.stderr.write(`${text}\n`);
  process.exitCode = exitCode ?? 1;
});
