/** Signals of the model's parts: a component that reads one is rendered again when it changes. */

import { batch, computed, effect, type ReadonlySignal, type Signal, signal } from "@preact/signals";
import { useMemo } from "preact/hooks";
import type { Part } from "../model/changes";

const versions = new Map<Part, Signal<number>>();

function versionOf(part: Part): Signal<number> {
  let version = versions.get(part);
  if (!version) versions.set(part, (version = signal(0, part.startsWith("message:") ? { unwatched: () => forget(part, version!) } : {})));
  return version;
}

/** Forget the signal of a message that is no longer shown: one may pass any number of them. */
function forget(part: Part, version: Signal<number>): void {
  if (versions.get(part) === version) versions.delete(part);
}

/** Subscribe the component that is being rendered to parts of the model. */
export function watch(...parts: Part[]): void {
  for (const part of parts) versionOf(part).value;
}

/**
 * Return what a function makes of signals and of the parts that it watches.
 *
 * The component that is being rendered is rendered again when the function returns something else,
 * compared by content, and not with each change of what it reads. `inputs` are what it takes from
 * the component besides.
 */
export function useDerived<Value>(derive: () => Value, inputs: readonly unknown[]): Value {
  return useMemo(() => {
    let last: Value | undefined;
    return computed(() => {
      const next = derive();
      return (last = isAlike(last, next) ? last! : next);
    });
  }, inputs).value;
}

/** Return whether two values of plain data have the same content. */
function isAlike(one: unknown, other: unknown): boolean {
  if (Object.is(one, other)) return true;
  if (typeof one !== "object" || typeof other !== "object" || !one || !other) return false;
  const [entries, others] = [Object.entries(one), Object.entries(other)];
  return entries.length === others.length && entries.every(([name, value], index) => others[index]![0] === name && isAlike(value, others[index]![1]));
}

/** Subscribe as `watch` does, and return a number that changes with the part: what to keep results by. */
export function watchedVersion(part: Part): number {
  return versionOf(part).value;
}

/**
 * Return a signal that follows the version of a part, at once or up to `every` milliseconds later.
 *
 * For what changes all the time without a person's doing, and need not be shown at once.
 */
export function calmVersion(part: Part, every: number): ReadonlySignal<number> {
  const version = versionOf(part);
  const calm = signal(version.peek());
  let isWaiting = false;
  const follow = () => {
    isWaiting = calm.peek() !== version.peek();
    calm.value = version.peek();
    if (isWaiting) setTimeout(follow, every);
  };
  effect(() => {
    version.value;
    if (!isWaiting) follow();
  });
  return calm;
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
