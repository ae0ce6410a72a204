/** The last searches, kept in this browser. */

import { state } from "../../app";

const MOST = 8;

function key(): string {
  return `parley:searches:${state().userId}`;
}

export function history(): string[] {
  try {
    const kept: unknown = JSON.parse(localStorage.getItem(key()) ?? "[]");
    return Array.isArray(kept) ? kept.filter((each) => typeof each === "string").slice(0, MOST) : [];
  } catch {
    return [];
  }
}

export function remember(query: string): void {
  try {
    localStorage.setItem(key(), JSON.stringify([query, ...history().filter((each) => each !== query)].slice(0, MOST)));
  } catch {
    // The browser keeps nothing: there is no history then.
  }
}
