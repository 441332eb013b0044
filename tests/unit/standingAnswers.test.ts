import assert from "node:assert/strict";
import { StandingAnswers } from "../../runtime/reconcile/standingAnswers";

const [KEY, UID] = ["shop/a", "11111111-aaaa"];
const [OTHER, OTHER_UID] = ["shop/b", "22222222-bbbb"];

describe("standing answers", () => {
  /** The exceptions of each mark. */
  let marks: (readonly string[])[];
  let standing: StandingAnswers;
  beforeEach(() => {
    marks = [];
    standing = new StandingAnswers((exceptions) => marks.push(exceptions));
  });
  const stands = (digest: string, remembered?: string) => standing.stands(KEY, UID, digest, remembered);

  it("stand until the handler is asked again, or is another one, or the object is gone", () => {
    const ends = [() => standing.asked(KEY), () => standing.renew(), () => standing.forget(KEY)];
    for (const end of ends) {
      standing.looked(KEY, UID, "one", undefined);
      assert.ok(stands("one"));
      assert.ok(!stands("two"));
      end();
      assert.ok(!stands("one"));
    }
  });

  it("are those that objects remember, if the program before was the same", () => {
    assert.ok(!stands("one", "one"));
    standing.beginTerm([], [KEY]);
    assert.ok(stands("one", "one"));
    assert.ok(!stands("one", "two"));
    assert.ok(!stands("one"));
    standing.beginTerm(["11111111"], [KEY]);
    assert.ok(!stands("one", "one"), "an exception");
    standing.beginTerm(undefined, [KEY]);
    assert.ok(!stands("one", "one"), "another program");
    assert.deepEqual(marks, []);
  });

  it("are not those that an object remembers once this process has asked", () => {
    standing.beginTerm([], [KEY]);
    standing.asked(KEY);
    assert.ok(!stands("one", "one"));
    standing.looked(KEY, UID, "two", "one");
    assert.ok(!stands("one", "one"));
    assert.ok(stands("two", "one"));
  });

  it("are no longer those that objects remember once the handler is another one", () => {
    standing.beginTerm([], [KEY]);
    standing.renew();
    assert.ok(!stands("one", "one"));
  });

  it("lead to a mark when every object was looked at or is gone", () => {
    standing.beginTerm(undefined, [KEY, OTHER, "shop/gone"]);
    standing.looked(KEY, UID, "one", "one");
    standing.forget("shop/gone");
    assert.deepEqual(marks, []);
    standing.looked(OTHER, OTHER_UID, undefined, undefined);
    assert.deepEqual(marks, [[]]);
    standing.looked(KEY, UID, "two", "one");
    assert.equal(marks.length, 1, "only once");
    standing.beginTerm(undefined, []);
    assert.deepEqual(marks, [[], []]);
  });

  it("lead to no mark before it is known which objects there are", () => {
    standing.beginTerm(undefined, undefined);
    standing.looked(KEY, UID, "one", "one");
    assert.deepEqual(marks, []);
    standing.beginTerm(undefined, [KEY, OTHER]);
    standing.looked(KEY, UID, "one", "one");
    assert.deepEqual(marks, []);
    standing.looked(OTHER, OTHER_UID, "one", "one");
    assert.deepEqual(marks, [[]]);
  });

  it("except from the mark objects that remember a question of another program", () => {
    standing.beginTerm(undefined, [KEY, OTHER]);
    standing.looked(KEY, UID, undefined, "one");
    standing.looked(OTHER, OTHER_UID, "two", "one");
    assert.deepEqual(marks, [["11111111", "22222222"]]);
    standing.beginTerm(undefined, [KEY, OTHER]);
    standing.looked(KEY, UID, undefined, "one");
    // A later look has met the question that it remembers.
    standing.looked(KEY, UID, "one", "one");
    standing.looked(OTHER, OTHER_UID, "two", "two");
    assert.deepEqual(marks.at(-1), []);
  });

  it("make no mark with too many exceptions", () => {
    const keys = Array.from({ length: 1_001 }, (_, index) => `shop/${index}`);
    standing.beginTerm(undefined, keys);
    for (const [index, key] of keys.entries()) standing.looked(key, `${index}`, undefined, "one");
    assert.deepEqual(marks, []);
  });
});
