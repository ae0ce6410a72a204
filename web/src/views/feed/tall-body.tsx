import { signal } from "@preact/signals";
import { useLayoutEffect, useRef, useState } from "preact/hooks";
import { i18n } from "../../i18n";
import { MessageHtml } from "../../ui/message-html";

/** So much more than fits is shown all the same: a button for it would cost more than it saves. */
const TOLERANCE_PX = 120;
/** The least height that is shown, and the part of the window's; CSS has the same. */
const MIN_LIMIT_PX = 420;
const OF_WINDOW = 0.8;

/** Below the limit, a little above it, or far above it. */
type Fit = "small" | "fits" | "tall";

/** Return whether a message of a height is cut off at the limit. */
export function fitOf(height: number, limit: number): Fit {
  if (height <= limit) return "small";
  return height > limit + TOLERANCE_PX ? "tall" : "fits";
}

/** Messages that are shown whole; those that the person has left stay so. */
const whole = signal<ReadonlySet<number>>(new Set());

function show(id: number, isWhole: boolean): void {
  const changed = new Set(whole.value);
  if (isWhole) changed.add(id);
  else changed.delete(id);
  whole.value = changed;
}

let sizes: ResizeObserver | undefined;
const onHeight = new WeakMap<Element, (height: number) => void>();

/**
 * Call a function with the height of an element, once it is near the window and when it changes, as
 * when its pictures have come. Returns a function that ends this.
 */
function followHeight(element: Element, then: (height: number) => void): () => void {
  // One observer for all messages: each has its cost in every frame.
  sizes ??= new ResizeObserver((entries) => {
    for (const { target, contentRect } of entries) if (contentRect.height) onHeight.get(target)?.(contentRect.height);
  });
  const observer = sizes;
  onHeight.set(element, then);
  observer.observe(element);
  return () => observer.unobserve(element);
}

/**
 * The HTML of a message, cut off where it is much taller than the window, with a button that shows the rest.
 *
 * The rest stays in the page, for find-in-page and screen readers: what finds it or scrolls to it
 * shows the message whole. It is hidden "until found" so that the browser says that it has found
 * something before it scrolls there; the style sheet shows it all the same.
 */
export function TallBody({ id, html }: { id: number; html: string }) {
  const frame = useRef<HTMLDivElement>(null);
  const [fit, setFit] = useState<Fit>("small");
  const isWhole = whole.value.has(id);
  useLayoutEffect(() => {
    const element = frame.current!;
    const body = element.firstElementChild as HTMLElement;
    return followHeight(body, (height) => setFit(fitOf(height, Math.max(MIN_LIMIT_PX, innerHeight * OF_WINDOW))));
  }, []);
  const reveal = () => {
    const element = frame.current!;
    if (!element.scrollTop) return;
    element.scrollTop = 0;
    show(id, true);
  };
  const toggle = () => {
    show(id, !isWhole);
    if (isWhole) requestAnimationFrame(() => frame.current?.closest("article")?.scrollIntoView({ block: "nearest" }));
  };
  useLayoutEffect(() => {
    const element = frame.current!;
    const onFound = () => show(id, true);
    const onFocus = ({ target }: FocusEvent) => {
      if (!element.hasAttribute("hidden")) return;
      show(id, true);
      // The feed holds its place while the message grows; then what has the focus is brought into view.
      requestAnimationFrame(() => requestAnimationFrame(() => (target as Element).scrollIntoView({ block: "nearest" })));
    };
    element.addEventListener("beforematch", onFound);
    element.addEventListener("focusin", onFocus);
    return () => {
      element.removeEventListener("beforematch", onFound);
      element.removeEventListener("focusin", onFocus);
    };
  }, [id]);
  const isOpen = isWhole || fit === "fits";
  const isCut = fit === "tall" && !isWhole;
  return (
    <>
      <div
        ref={frame}
        id={`message-body-${id}`}
        class={`tall-frame ${isOpen ? "is-whole" : isCut ? "is-cut" : ""}`}
        hidden={isCut ? "until-found" : undefined}
        onScroll={reveal}
      >
        <MessageHtml html={html} />
      </div>
      {fit === "tall" ? (
        <button type="button" class="tall-toggle" aria-expanded={isWhole} aria-controls={`message-body-${id}`} onClick={toggle}>
          {isWhole ? i18n.t("Show less") : i18n.t("Show more")}
        </button>
      ) : null}
    </>
  );
}
