/** Keys that do something, with names: those who ask are shown the tables that the keys are found in. */

export interface Shortcut<Act> {
  /** Values of `KeyboardEvent.key`: each does the same. */
  keys: readonly string[];
  name: () => string;
  act: Act;
}

/** Return what a key does; undefined if it is not in the table. */
export function actOf<Act>(shortcuts: readonly Shortcut<Act>[], key: string): Act | undefined {
  return shortcuts.find(({ keys }) => keys.includes(key))?.act;
}
