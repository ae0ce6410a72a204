/**
 * Tabs of one browser, which share one event queue.
 *
 * The leader polls, and broadcasts each batch before it polls on, so that whatever it has
 * acknowledged has been given to the others. Ids of events have gaps: a tab sees that it has missed
 * a batch by `after`, which is not its own last id, and asks for the leader's state. Tabs ask now and
 * then whether the leader is there, and take the place of one that does not answer.
 */

import type { ServerEvent } from "../model/events";
import type { Snapshot } from "../model/snapshot";
import type { Health } from "./events";
import type { Leadership } from "./leadership";

/** Where in which queue a tab is. */
export interface Position {
  queueId: string;
  last: number;
}

export interface Batch {
  events: ServerEvent[];
  queueId: string;
  /** The last id before the batch, and the last id of it. */
  after: number;
  last: number;
}

type Message =
  | { kind: "batch"; batch: Batch }
  /** Events that no queue has: what requests of the leader have returned. */
  | { kind: "local"; events: ServerEvent[] }
  | { kind: "health"; health: Health }
  | { kind: "ask-state" }
  /** The leader has no state yet: it is about to register. */
  | { kind: "starting" }
  | { kind: "state"; snapshot: Snapshot; health: Health }
  | { kind: "ping" }
  | { kind: "pong"; position: Position }
  | { kind: "active" }
  | { kind: "roll-call" }
  | { kind: "here"; tab: string }
  | { kind: "gone"; tab: string };

/** What a message is sent in: tabs of another sign-in have nothing to do with this one. */
interface Envelope {
  session: string;
  message: Message;
}

/** A BroadcastChannel, or what stands for one. */
export interface Channel {
  postMessage(data: unknown): void;
  addEventListener(type: "message", listener: (event: { data: unknown }) => void): void;
}

export interface TabsHost {
  position(): Position;
  /** The leader's state, for tabs that have none or have missed something. */
  snapshot(): Snapshot;
  health(): Health;
  onBatch(batch: Batch): void;
  onLocal(events: ServerEvent[]): void;
  onSnapshot(snapshot: Snapshot): void;
  onHealth(health: Health): void;
  /** This tab is the leader from now on, and polls. */
  onLead(): void;
  /** Another tab is the leader, and this one must not poll. */
  onFollow(): void;
  /** A person has used another tab. */
  onActive(): void;
  /** These tabs are there: others have been closed, or have crashed. */
  onRoll(tabs: ReadonlySet<string>): void;
}

const STATE_TIMEOUT_MS = 1_500;
/** How long a leader may take to register. */
const STARTING_TIMEOUT_MS = 20_000;
const PONG_TIMEOUT_MS = 5_000;
const PING_EVERY_MS = 30_000;
/** How long tabs have to answer a roll call, and a tab that is reloaded to come back. */
const ROLL_CALL_MS = 3_000;

export class Tabs {
  #isLeader = false;
  #isStarted = false;
  /** Whether a tab has asked for the state before there was one. */
  #isAwaited = false;
  #pong: ReturnType<typeof setTimeout> | undefined;
  #present = new Set<string>();
  #rollCall: ReturnType<typeof setTimeout> | undefined;
  #onState: ((snapshot: Snapshot | undefined) => void) | undefined;
  #stateTimer: ReturnType<typeof setTimeout> | undefined;

  constructor(
    readonly tab: string,
    /** What only tabs of the same sign-in share. */
    private readonly session: string,
    private readonly channel: Channel | undefined,
    private readonly leadership: Leadership | undefined,
    private readonly host: TabsHost,
  ) {
    channel?.addEventListener("message", ({ data }) => {
      const { session, message } = data as Envelope;
      if (session === this.session) this.#receive(message);
    });
  }

  get isLeader(): boolean {
    return this.#isLeader;
  }

  /** Return the leader's state; undefined if this tab is the leader, and has to register. */
  async join(): Promise<Snapshot | undefined> {
    const { leadership } = this;
    if (this.#isLeader) return undefined;
    if (!leadership || !this.channel) {
      this.#isLeader = true;
      return undefined;
    }
    leadership.onLost(() => this.#follow());
    if (await leadership.claim()) {
      this.#isLeader = true;
      return undefined;
    }
    const snapshot = await this.#askState();
    if (!snapshot) {
      this.#isLeader = await leadership.claim({ force: true });
      if (this.#isLeader) return undefined;
    }
    leadership.onVacant(() => this.#lead());
    return snapshot ?? this.#askState();
  }

  /** Begin to look after the leader, or after the other tabs. The state has been made. */
  start(): void {
    this.#isStarted = true;
    if (this.#isLeader) {
      this.#lead();
      if (this.#isAwaited) this.broadcastState();
      // To tabs that have followed another leader: they ask for the state if theirs is of another queue.
      else this.#send({ kind: "pong", position: this.host.position() });
    } else this.#send({ kind: "here", tab: this.tab });
    setInterval(() => this.check(), PING_EVERY_MS);
  }

  /** Give a batch to the other tabs. The leader does so before it acknowledges it by the next poll. */
  broadcast(batch: Batch): void {
    if (this.#isLeader) this.#send({ kind: "batch", batch });
  }

  broadcastLocal(events: ServerEvent[]): void {
    if (this.#isLeader) this.#send({ kind: "local", events });
  }

  broadcastHealth(health: Health): void {
    if (this.#isLeader) this.#send({ kind: "health", health });
  }

  /** Give the state to all tabs: it was registered anew. */
  broadcastState(): void {
    if (this.#isLeader) this.#send({ kind: "state", snapshot: this.host.snapshot(), health: this.host.health() });
  }

  /** Let the leader know that this tab is used. */
  reportActive(): void {
    if (!this.#isLeader) this.#send({ kind: "active" });
  }

  /**
   * Find out whether the leader is there, and whether anything was missed.
   *
   * The leader finds out instead which tabs are there: one that crashes does not say that it is gone.
   */
  check(): void {
    if (this.#isLeader) this.#callRoll();
    if (this.#isLeader || this.#pong !== undefined) return;
    this.#send({ kind: "ping" });
    this.#pong = setTimeout(() => {
      this.#pong = undefined;
      void this.#takeOver();
    }, PONG_TIMEOUT_MS);
  }

  /** The page is closed. */
  leave(): void {
    this.#send({ kind: "gone", tab: this.tab });
  }

  async #takeOver(): Promise<void> {
    if (!this.#isLeader && (await this.leadership?.claim({ force: true }))) this.#lead();
  }

  #lead(): void {
    this.#isLeader = true;
    clearTimeout(this.#pong);
    this.#pong = undefined;
    if (!this.#isStarted) return;
    this.host.onLead();
    this.#callRoll();
  }

  #follow(): void {
    if (!this.#isLeader) return;
    this.#isLeader = false;
    if (this.#isStarted) this.host.onFollow();
    this.leadership!.onVacant(() => this.#lead());
    this.#send({ kind: "ask-state" });
  }

  #callRoll(): void {
    clearTimeout(this.#rollCall);
    this.#present = new Set([this.tab]);
    this.#rollCall = setTimeout(() => {
      if (this.#isLeader) this.host.onRoll(this.#present);
    }, ROLL_CALL_MS);
    this.#send({ kind: "roll-call" });
  }

  #askState(): Promise<Snapshot | undefined> {
    return new Promise((resolve) => {
      this.#waitForState(STATE_TIMEOUT_MS);
      this.#onState = (snapshot) => {
        clearTimeout(this.#stateTimer);
        this.#onState = undefined;
        resolve(snapshot);
      };
      this.#send({ kind: "ask-state" });
    });
  }

  #waitForState(milliseconds: number): void {
    clearTimeout(this.#stateTimer);
    this.#stateTimer = setTimeout(() => this.#onState?.(undefined), milliseconds);
  }

  #send(message: Message): void {
    this.channel?.postMessage({ session: this.session, message } satisfies Envelope);
  }

  #receive(message: Message): void {
    if (this.#isLeader) this.#receiveAsLeader(message);
    else this.#receiveAsFollower(message);
    if (message.kind === "roll-call") this.#send({ kind: "here", tab: this.tab });
  }

  #receiveAsLeader(message: Message): void {
    switch (message.kind) {
      case "ask-state":
        if (this.#isStarted) this.broadcastState();
        else {
          this.#isAwaited = true;
          this.#send({ kind: "starting" });
        }
        break;
      case "ping":
        if (this.#isStarted) this.#send({ kind: "pong", position: this.host.position() });
        break;
      case "active":
        if (this.#isStarted) this.host.onActive();
        break;
      case "here":
        this.#present.add(message.tab);
        break;
      case "gone":
        this.#callRoll();
        break;
    }
  }

  #receiveAsFollower(message: Message): void {
    switch (message.kind) {
      case "starting":
        if (this.#onState) this.#waitForState(STARTING_TIMEOUT_MS);
        break;
      case "state":
        this.#takeState(message.snapshot, message.health);
        break;
      case "batch":
        if (this.#isStarted) this.#takeBatch(message.batch);
        break;
      case "local":
        if (this.#isStarted) this.host.onLocal(message.events);
        break;
      case "health":
        this.host.onHealth(message.health);
        break;
      case "pong":
        if (this.#isStarted) this.#takePong(message.position);
        break;
    }
  }

  #takeState(snapshot: Snapshot, health: Health): void {
    this.host.onHealth(health);
    if (this.#onState) this.#onState(snapshot);
    else if (this.#isStarted && this.#isBehind({ queueId: snapshot.queueId, last: snapshot.lastEventId })) this.host.onSnapshot(snapshot);
  }

  #takeBatch(batch: Batch): void {
    const { queueId, last } = this.host.position();
    if (batch.queueId !== queueId || batch.after > last) this.#send({ kind: "ask-state" });
    else if (batch.last > last) this.host.onBatch(batch);
  }

  #takePong(position: Position): void {
    clearTimeout(this.#pong);
    this.#pong = undefined;
    if (this.#isBehind(position)) this.#send({ kind: "ask-state" });
  }

  #isBehind({ queueId, last }: Position): boolean {
    const own = this.host.position();
    return own.queueId !== queueId || own.last < last;
  }
}
