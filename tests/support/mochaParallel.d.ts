/** Mocha's own reporter of a process that runs files for another one; its types do not name it. */
declare module "mocha/lib/nodejs/reporters/parallel-buffered.cjs" {
  import Mocha from "mocha";
  export default class ParallelBuffered extends Mocha.reporters.Base {}
}
