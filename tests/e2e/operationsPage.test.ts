import { commandOnPath } from "../../definition/commandOnPath";
import { codeBlocksOf } from "../unit/support/codeBlocks";
import { session } from "./support/hooks";
import { Shell } from "./support/shell";

/** Made by the page's own commands. */
const USERS_NAMESPACE = "shop";
/** What a page takes for granted: a clone of the project, with a user's name for commits. */
const CLONE = `
git init --quiet
git config user.name e2e
git config user.email e2e@example.com
git add --all
git commit --quiet --message "As it was cloned"
`;

/** In the order of an operator's life. */
const PAGES = ["operations.md", "tasks/roll-back.md", "tasks/uninstall.md"];

describe("every command of the pages about operations", () => {
  let shell: Shell | undefined;

  before(async function () {
    if (!commandOnPath("kubectl")) return this.skip();
    const { stack, project } = session();
    await session().up();
    await stack.up();
    shell = new Shell(project.folder, await stack.shellEnvironment());
    await shell.run(CLONE);
  });

  after(async () => {
    shell?.end();
    if (!shell) return;
    await session().deleteNamespace(USERS_NAMESPACE);
  });

  const COMMANDS = PAGES.flatMap((page) => codeBlocksOf(`docs/${page}`)).filter(
    ({ language }) => language === "sh",
  );

  for (const { place, role, code } of COMMANDS) {
    it(`${place} ends well`, async function () {
      if (role !== "" && !commandOnPath(role)) {
        process.stderr.write(`      skipped: no program ${role} is on PATH\n`);
        return this.skip();
      }
      await shell?.run(code);
    });
  }
});
