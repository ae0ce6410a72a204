/** Which of a browser's tabs is the leader. */

export interface Leadership {
  /** Become the leader if there is none, or in any case. Resolves to whether this tab is it now. */
  claim(options?: { force?: boolean }): Promise<boolean>;
  /** Call a function when this tab becomes the leader later on, as the present one has left. */
  onVacant(then: () => void): void;
  /** Call a function when another tab has taken the place. */
  onLost(then: () => void): void;
}

const NAME = "parley.leader";

/** By a lock, which the browser gives to the next tab when the leader is closed or crashes. */
export class LockLeadership implements Leadership {
  #lost = () => {};

  constructor(private readonly locks: LockManager) {}

  claim({ force = false } = {}): Promise<boolean> {
    return new Promise((resolve) => {
      this.#hold(force ? { steal: true } : { ifAvailable: true }, resolve);
    });
  }

  onVacant(then: () => void): void {
    this.#hold({}, then);
  }

  onLost(then: () => void): void {
    this.#lost = then;
  }

  #hold(options: LockOptions, then: (isHeld: boolean) => void): void {
    let isHeld = false;
    this.locks
      .request(NAME, options, (lock) => {
        isHeld = lock !== null;
        then(isHeld);
        return isHeld ? new Promise<void>(() => {}) : undefined;
      })
      .catch(() => {
        if (isHeld) this.#lost();
      });
  }
}

/** How long a claim may need to reach other tabs' view of the storage. */
const SETTLING_MS = 60;

/** By a lease in the storage, for pages without a secure context. A crashed leader keeps it. */
export class LeaseLeadership implements Leadership {
  #isLeader = false;
  #lost = () => {};

  constructor(
    private readonly storage: Storage,
    private readonly tab: string,
  ) {
    addEventListener("pagehide", () => {
      if (this.#holder === tab) storage.removeItem(NAME);
      if (!this.#isLeader) return;
      this.#isLeader = false;
      this.#lost();
    });
    addEventListener("storage", ({ key, newValue }) => {
      if (key !== NAME || !this.#isLeader || newValue === tab) return;
      this.#isLeader = false;
      this.#lost();
    });
  }

  get #holder(): string | null {
    return this.storage.getItem(NAME);
  }

  async claim({ force = false } = {}): Promise<boolean> {
    if (!force && this.#holder !== null && this.#holder !== this.tab) return false;
    this.storage.setItem(NAME, this.tab);
    await new Promise((resolve) => setTimeout(resolve, SETTLING_MS * (1 + Math.random())));
    this.#isLeader = this.#holder === this.tab;
    return this.#isLeader;
  }

  onVacant(then: () => void): void {
    const claim = async (event: StorageEvent) => {
      if (event.key !== NAME || event.newValue !== null || !(await this.claim())) return;
      removeEventListener("storage", claim);
      then();
    };
    addEventListener("storage", claim);
  }

  onLost(then: () => void): void {
    this.#lost = then;
  }
}

/** Return what this browser has; undefined where tabs cannot agree, and each is on its own. */
export function leadershipOf(tab: string, storage: Storage | undefined): Leadership | undefined {
  if (typeof BroadcastChannel === "undefined") return undefined;
  if (navigator.locks) return new LockLeadership(navigator.locks);
  return storage && new LeaseLeadership(storage, tab);
}
