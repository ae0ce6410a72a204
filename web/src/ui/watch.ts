/** Signals of the model's parts: a component that reads one is rendered again when it changes. */

import { batch, type Signal, signal } from "@preact/signals";
import type { Part } from "../model/changes";

const versions = new Map<Part, Signal<number>>();

function versionOf(part: Part): Signal<number> {
  let version = versions.get(part);
  if (!version) versions.set(part, (version = signal(0)));
  return version;
}

/** Subscribe the component that is being rendered to parts of the model. */
export function watch(...parts: Part[]): void {
  for (const part of parts) versionOf(part).value;
}

/** Subscribe as `watch` does, and return a number that changes with the part: what to keep results by. */
export function watchedVersion(part: Part): number {
  return versionOf(part).value;
}

/** Render what reads any of the parts again. */
export function announce(parts: Iterable<Part>): void {
  batch(() => {
    for (const part of parts) {
      const version = versions.get(part);
      if (version) version.value += 1;
    }
  });
}

/** Render everything again: the state was replaced. */
export function announceAll(): void {
  announce(versions.keys());
}
