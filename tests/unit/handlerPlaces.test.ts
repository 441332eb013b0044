import assert from "node:assert/strict";
import type { Containers } from "../../cli/containers/containers";
import { ContainerEngineError } from "../../cli/containers/engine";
import { HandlerPlaces } from "../../cli/dev/handlerPlaces";
import type { Operator } from "../../runtime/operator/definition";

function operatorWith(command: readonly string[]): Operator {
  return {
    name: "cache",
    handler: { image: "shop/cache:1", command },
    folder: "/",
    env: {},
  } as unknown as Operator;
}

const HERE = operatorWith(["sh", "main.sh"]);
const ELSEWHERE = operatorWith(["argosy-no-such-program"]);

describe("cli: where handlers run in argosy dev", () => {
  let notices: string[];
  let opened: number;
  let prepared: number;
  let closed: number;
  let broken: Error | undefined;
  beforeEach(() => {
    [notices, opened, prepared, closed, broken] = [[], 0, 0, 0, undefined];
  });

  function places(inImage: boolean): HandlerPlaces {
    const open = async () => {
      opened += 1;
      if (broken) throw broken;
      return {
        engine: { name: "docker" },
        prepare: async () => {
          prepared += 1;
        },
        close: async () => {
          closed += 1;
        },
      } as unknown as Containers;
    };
    return new HandlerPlaces({ inImage, onNotice: (each) => notices.push(each), onProgress: () => {}, open });
  }

  it("is this machine where the program is here, without a look at any engine", async () => {
    const own = places(false);
    await own.check();
    assert.equal(await own.containersFor(HERE), undefined);
    // A path of the author's own folder is a file that is missing there too.
    assert.equal(await own.containersFor(operatorWith(["./missing.sh"])), undefined);
    await own.close();
    assert.deepEqual([opened, notices], [0, []]);
  });

  it("is its image where only that may have the program, which is said once", async () => {
    const own = places(false);
    assert.ok(await own.containersFor(ELSEWHERE));
    assert.ok(await own.containersFor(ELSEWHERE));
    assert.ok(await own.containersFor(operatorWith(["/opt/argosy-no-such-program"])));
    assert.match(
      notices[0] ?? "",
      /^cache: argosy-no-such-program is not on this machine\. The handler runs in its image shop\/cache:1 with docker\.$/,
    );
    assert.deepEqual([opened, prepared, notices.length], [1, 3, 2]);
    await own.close();
    assert.equal(closed, 1);
  });

  it("is this machine where the engine cannot be used, so that the missing program is reported; and asked again", async () => {
    const own = places(false);
    broken = new ContainerEngineError("docker is not running.");
    assert.equal(await own.containersFor(ELSEWHERE), undefined);
    broken = undefined;
    assert.ok(await own.containersFor(ELSEWHERE));
    assert.equal(opened, 2);
  });

  it("is its image for every handler, if that is wanted, or an error", async () => {
    const own = places(true);
    await own.check();
    assert.ok(await own.containersFor(HERE));
    assert.deepEqual([opened, notices], [1, []]);
    broken = new ContainerEngineError("docker is not running.");
    await assert.rejects(places(true).check(), broken);
    await assert.rejects(places(true).containersFor(HERE), broken);
  });

  it("hides no other error", async () => {
    broken = new Error("a fault");
    await assert.rejects(places(false).containersFor(ELSEWHERE), broken);
  });
});
