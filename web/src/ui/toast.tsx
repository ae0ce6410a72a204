/** Short notices at the edge of the page, which go by themselves. */

import { signal } from "@preact/signals";
import { lastingOverlay } from "./overlays";

interface Notice {
  id: number;
  text: string;
  isProblem: boolean;
  link?: Link | undefined;
}

/** A way on from what a notice says. */
interface Link {
  href: string;
  label: string;
}

const notices = signal<Notice[]>([]);
let isShown = false;
let serial = 0;
const SHOWN_MS = 5_000;
const LINK_SHOWN_MS = 10_000;

function Notices() {
  return (
    <div class="toasts" role="status" aria-live="polite">
      {notices.value.map((each) => (
        <p key={each.id} class={each.isProblem ? "toast is-problem" : "toast"}>
          {each.text} {each.link ? <a href={each.link.href}>{each.link.label}</a> : null}
        </p>
      ))}
    </div>
  );
}

/** Show a notice for a while. */
export function toast(text: string, { isProblem = false, link }: { isProblem?: boolean; link?: Link } = {}): void {
  if (!isShown) {
    isShown = true;
    lastingOverlay(() => <Notices />);
  }
  const notice = { id: serial++, text, isProblem, link };
  // The live region is in the page before its text, or it is not read.
  setTimeout(() => (notices.value = [...notices.value.slice(-2), notice]), 50);
  setTimeout(() => (notices.value = notices.value.filter((each) => each !== notice)), (link ? LINK_SHOWN_MS : SHOWN_MS) + 50);
}

/** Carry something out, and say so if it fails. Resolves to whether it succeeded. */
export async function attempt(action: () => Promise<unknown>): Promise<boolean> {
  try {
    await action();
    return true;
  } catch (error) {
    toast((error as Error).message, { isProblem: true });
    return false;
  }
}
