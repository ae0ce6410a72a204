/** Where a feed is scrolled to: held exactly while messages are put in, removed, or change their size. */

/** A message, and the distance of its top from the top of the scroller. */
export interface Anchor {
  id: number;
  top: number;
}

/**
 * How long a place that was gone to is held while messages around it get their real sizes: until
 * then, scroll events are not of a person.
 */
const SETTLING_MS = 1000;
const INPUTS = ["wheel", "touchmove", "pointerdown", "keydown"] as const;

/** So near to the end counts as being there. */
const END_TOLERANCE = 24;
/** Messages on each side of the place that are laid out and painted before they are scrolled to. */
const NEAR = 45;
/** By how many messages the place moves before what is near is marked anew. */
const NEAR_STEP = 12;

export class Scroller {
  anchor: Anchor | undefined;
  /** Whether the scroller is at the end, and stays there when messages arrive. */
  isAtEnd = true;
  readonly #sizes: ResizeObserver;
  #settlesAt = 0;
  /** The message around which others count as near. */
  #middle: number | undefined;

  constructor(
    readonly element: HTMLElement,
    private readonly onMoved: () => void,
    private readonly reachesEnd: () => boolean,
  ) {
    this.#sizes = new ResizeObserver(() => this.restore());
    this.#sizes.observe(element);
    element.addEventListener("scroll", this.#onScroll, { passive: true });
    for (const input of INPUTS) element.addEventListener(input, this.#onInput, { passive: true });
  }

  disconnect(): void {
    this.#sizes.disconnect();
    this.element.removeEventListener("scroll", this.#onScroll);
    for (const input of INPUTS) this.element.removeEventListener(input, this.#onInput);
  }

  /** Watch the size of the element that holds the messages. */
  observe(content: Element): void {
    this.#sizes.observe(content);
  }

  get articles(): HTMLElement[] {
    return [...this.#rows] as HTMLElement[];
  }

  /** The articles as a live collection: scrolling needs few of them. */
  get #rows(): ArrayLike<Element> & Iterable<Element> {
    return this.element.querySelector(".feed")?.children ?? [];
  }

  article(id: number): HTMLElement | undefined {
    const article = this.#rows[this.#indexOf(id)];
    return article && idOf(article) === id ? (article as HTMLElement) : undefined;
  }

  /** Return the index of the first article with an id that is not less: they stand in ascending order. */
  #indexOf(id: number): number {
    const rows = this.#rows;
    let low = 0;
    let high = rows.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (idOf(rows[middle]!) < id) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  /**
   * Hold the place after a render.
   *
   * At the end that waits for the layout of the frame, which says so if the content has grown: a
   * layout for it alone would be the longest part of showing a message.
   */
  hold(): void {
    if (!(this.isAtEnd && this.reachesEnd())) this.restore();
  }

  /** Put everything back to where it was, after the content or a size has changed. */
  restore(): void {
    if (this.isAtEnd && this.reachesEnd()) {
      this.element.scrollTop = this.element.scrollHeight;
      return;
    }
    const { anchor } = this;
    const article = anchor && this.article(anchor.id);
    if (!article) return;
    const difference = this.#topOf(article, this.#top) - anchor.top;
    if (Math.abs(difference) >= 0.5) this.element.scrollTop += difference;
  }

  scrollToEnd(): void {
    this.isAtEnd = true;
    this.#settlesAt = performance.now() + SETTLING_MS;
    this.element.scrollTop = this.element.scrollHeight;
  }

  /** Scroll so that a message is at a distance from the top. */
  scrollTo(id: number, top: number): void {
    if (!this.article(id)) return;
    // Where all messages fit, nothing can be scrolled: no event would say that this is the end.
    this.isAtEnd = this.element.scrollHeight <= this.#room && this.reachesEnd();
    this.anchor = { id, top };
    this.#settlesAt = performance.now() + SETTLING_MS;
    this.restore();
    if (this.isAtEnd) queueMicrotask(this.onMoved);
    // Where the place is the last one, no event says that this is the end.
    else setTimeout(this.#settle, SETTLING_MS + 50);
  }

  /** Scroll as little as needed for a message to be seen. */
  reveal(article: HTMLElement): void {
    this.#settlesAt = 0;
    const { height, top: start } = this.element.getBoundingClientRect();
    const top = this.#topOf(article, start);
    const bottom = top + article.offsetHeight;
    const margin = Math.min(60, height / 5);
    if (top < margin) this.element.scrollTop += top - margin;
    else if (bottom > height - 8) this.element.scrollTop += Math.min(bottom - height + 8, top - margin);
    this.#notePlace();
  }

  scrollBy(pages: number): void {
    this.#settlesAt = 0;
    this.element.scrollTop += pages * Math.max(80, this.element.clientHeight - 80);
    // The event comes with the next frame: a message that grows before it must not undo this.
    this.#notePlace();
  }

  /** Return the ids of messages that are seen: to their end, or as much of them as fits. */
  seen(): number[] {
    const { height, top: start } = this.element.getBoundingClientRect();
    const found: number[] = [];
    const rows = this.#rows;
    for (let index = this.#firstVisible(rows, start); index < rows.length; index += 1) {
      const article = rows[index]!;
      const { top: from, bottom: to } = article.getBoundingClientRect();
      const [top, bottom] = [from - start, to - start];
      if (top >= height) break;
      const isSeen = bottom <= height + 4 || (top <= 0 && bottom > 0) || top < height / 3;
      if (isSeen) found.push(idOf(article));
    }
    return found;
  }

  #onInput = (): void => {
    this.#settlesAt = 0;
  };

  #onScroll = (): void => {
    if (performance.now() < this.#settlesAt) {
      this.restore();
      this.onMoved();
    } else this.#notePlace();
  };

  #settle = (): void => {
    if (this.element.isConnected && performance.now() >= this.#settlesAt) this.#notePlace();
  };

  #notePlace(): void {
    const { element } = this;
    this.isAtEnd = element.scrollHeight - element.scrollTop - this.#room < END_TOLERANCE && this.reachesEnd();
    this.#takeAnchor();
    this.#markFar();
    this.onMoved();
  }

  /** Take the first message that begins within what is seen: what grows above it is not noticed. */
  #takeAnchor(): void {
    const rows = this.#rows;
    const start = this.#top;
    const index = this.#firstVisible(rows, start);
    const height = this.element.clientHeight;
    const next = rows[index + 1];
    const first = rows[index];
    if (!first) return;
    const takesNext = this.#topOf(first, start) < 0 && next && this.#topOf(next, start) < height * 0.8;
    const article = takesNext ? next : first;
    this.anchor = { id: idOf(article), top: this.#topOf(article, start) };
  }

  /**
   * Mark messages that are far from the place: their layout is skipped until they come near.
   *
   * What the browser skips by itself, it looks at in each frame, and paints anew when it comes into
   * view. So it is left to it only where nothing is scrolled to soon.
   */
  #markFar(): void {
    const id = this.anchor?.id;
    if (id === undefined) return;
    const index = this.#indexOf(id);
    if (this.#middle !== undefined && Math.abs(this.#indexOf(this.#middle) - index) < NEAR_STEP) return;
    this.#middle = id;
    const rows = this.#rows;
    for (let each = 0; each < rows.length; each += 1) rows[each]!.classList.toggle("is-far", Math.abs(each - index) > NEAR);
  }

  /** Return the index of the first article that ends below the top. */
  #firstVisible(rows: ArrayLike<Element>, start: number): number {
    let low = 0;
    let high = rows.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (rows[middle]!.getBoundingClientRect().bottom <= start) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  /** The height for messages, with that of the button to the newest one: whether it is shown changes nothing. */
  get #room(): number {
    return this.element.parentElement!.clientHeight;
  }

  get #top(): number {
    return this.element.getBoundingClientRect().top;
  }

  #topOf(article: Element, start: number): number {
    return article.getBoundingClientRect().top - start;
  }
}

function idOf(article: Element): number {
  return Number((article as HTMLElement).dataset.messageId);
}
