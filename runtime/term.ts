import { LeaderElection, type LeaderElectionOptions, NotLeadingError } from "./leaderElection";

export { NotLeadingError };

export interface Term {
  assert(key?: string): void;
}

export interface LeadershipOptions extends Omit<LeaderElectionOptions, "onLeading"> {
  readonly onLeading: (term: Term) => void;
  readonly onBlockedChange?: () => void;
}

export class Leadership {
  private readonly election: LeaderElection;
  private term = 0;
  constructor(options: LeadershipOptions) {
    this.election = new LeaderElection({
      ...options,
      onLeading: () => {
        const mine = ++this.term;
        options.onLeading({
          assert: () => {
            if (mine !== this.term) throw new NotLeadingError();
            this.election.assertLeading();
          },
        });
      },
      onLost: () => {
        this.term++;
        options.onLost();
      },
    });
  }
  start() {
    this.election.start();
  }
  get isLeading() {
    return this.election.isLeading;
  }
  get holder() {
    return this.election.holder;
  }
  blockedKeys(): ReadonlySet<string> {
    return new Set();
  }
  async handOver(_: { unfinished: () => readonly string[]; ended: Promise<void> }): Promise<void> {}
  stop() {
    return this.election.stop();
  }
}
