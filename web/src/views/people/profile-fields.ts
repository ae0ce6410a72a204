/** Answers to custom profile fields. */

import type { User } from "../../model/state";
import type { ProfileField } from "../../protocol/types";

/** Kinds of fields, by their number in the protocol. */
export const FIELD = { SHORT_TEXT: 1, LONG_TEXT: 2, CHOICE: 3, DATE: 4, LINK: 5, PEOPLE: 6, EXTERNAL: 7, PRONOUNS: 8 } as const;

export type { ProfileField };

/** Return a person's answer: a text, or the ids of people; undefined where there is none. */
export function valueOfField(field: ProfileField, user: User): string | number[] | undefined {
  const value: unknown = user.profile_data?.[field.id]?.value;
  if (value === undefined || value === null || value === "") return undefined;
  if (field.type !== FIELD.PEOPLE) return String(value);
  return Array.isArray(value) ? (value as number[]) : (JSON.parse(String(value)) as number[]);
}

/** Return the answer as it is shown, for fields that are texts. */
export function textOfField(field: ProfileField, value: string): string {
  if (field.type === FIELD.CHOICE) return JSON.parse(field.field_data || "{}")[value]?.text ?? value;
  return value;
}
