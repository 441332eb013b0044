import fc from "fast-check";

/**
 * What every property is tried on follows from this number: a run of the tests tries what the one before has tried. Otherwise
 * a fault that one run in a hundred finds would be taken for one of the change that is being tested.
 * `ARGOSY_FUZZ_SEED` tries other inputs, and `ARGOSY_FUZZ_RUNS` more of them.
 */
const SEED = Number(process.env.ARGOSY_FUZZ_SEED ?? 379717);

// Loaded by mocha (`require` in .mocharc.json) before all tests.
fc.configureGlobal({ seed: SEED });
