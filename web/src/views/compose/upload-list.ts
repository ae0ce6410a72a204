/** Uploads under way: their list, for the box to show; `uploads.ts` carries them out. */

import { signal } from "@preact/signals";
import { i18n } from "../../i18n";
import type { TextBox } from "./textarea";

export interface Upload {
  id: string;
  /** Where its address is wanted. */
  box: TextBox;
  name: string;
  size: number;
  /** What stands in the text until the file has an address. */
  placeholder: string;
  /** From 0 to 1. */
  progress: number;
  state: "uploading" | "waiting" | "failed";
  problem?: string;
}

export const uploads = signal<readonly Upload[]>([]);

/** Return the uploads for a text. */
export function uploadsOf(box: TextBox): readonly Upload[] {
  return uploads.value.filter((each) => each.box === box);
}

/** Return whether the text waits for files that are being uploaded. */
export function waitsForUploads(text: string): boolean {
  return uploads.value.some((each) => each.state !== "failed" && text.includes(each.placeholder));
}

/** Return a text without what stands for uploads that ended with the page they were in. */
export function withoutStalePlaceholders(text: string): string {
  const pattern = new RegExp(`\\[${i18n.t("Uploading {name}…", { name: "\u0000" }).replace("\u0000", "[^\\]\\n]*")}\\]\\(\\)\\n?`, "g");
  const known = uploads.peek().map((each) => each.placeholder);
  return text.replace(pattern, (found) => (known.includes(found.trimEnd()) ? found : ""));
}

export function updateUpload(id: string, change: Partial<Upload>): void {
  uploads.value = uploads.value.map((each) => (each.id === id ? { ...each, ...change } : each));
}

export function removeUpload(id: string): void {
  uploads.value = uploads.value.filter((each) => each.id !== id);
}
