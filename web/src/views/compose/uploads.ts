/** Attach files: several at once, each resumed where it was cut off, its link put in the text at the end. */

import { state } from "../../app";
import { i18n } from "../../i18n";
import { csrfToken } from "../../protocol/client";
import { load } from "../../ui/lazy";
import { newKey } from "./composition";
import { insertion } from "./formatting";
import type { TextBox } from "./textarea";
import { removeUpload, type Upload, updateUpload, uploads } from "./upload-list";

const PLAYED = /\.(?:aac|flac|mp3|wav)$/i;

const MIB = 1024 * 1024;
const MAX_AT_ONCE = 3;

interface Work {
  file: File;
  abort?: () => void;
  isCancelled: boolean;
}

const works = new Map<string, Work>();
const queue: string[] = [];
let running = 0;

/** Attach files to what is being written in a box. Those that are too large are refused before they are sent. */
export function attach(files: readonly File[], box: TextBox): void {
  const limit = Number(state().fields.max_file_upload_size_mib ?? 0);
  const refused = files.filter((each) => each.size > limit * MIB);
  if (refused.length) {
    box.holder.report(
      limit
        ? i18n.t("{name} is too large: files have at most {limit} MiB.", { name: refused.map((each) => each.name).join(", "), limit })
        : i18n.t("This server takes no files."),
    );
  }
  for (const file of files.filter((each) => !refused.includes(each))) add(file, box);
  startNext();
}

/** Return the name as the text shows it: brackets would end the link. */
function shownName(file: File): string {
  const name = file.name || i18n.t("file");
  return name.replace(/[[\]\\\s]+/g, " ").trim() || i18n.t("file");
}

function uniquePlaceholder(name: string): string {
  const taken = new Set(uploads.peek().map((each) => each.placeholder));
  for (let number = 1; ; number += 1) {
    const numbered = number === 1 ? name : `${name} (${number})`;
    const placeholder = `[${i18n.t("Uploading {name}…", { name: numbered })}]()`;
    if (!taken.has(placeholder)) return placeholder;
  }
}

function add(file: File, box: TextBox): void {
  const upload: Upload = {
    id: newKey(),
    box,
    name: shownName(file),
    size: file.size,
    placeholder: uniquePlaceholder(shownName(file)),
    progress: 0,
    state: "uploading",
  };
  works.set(upload.id, { file, isCancelled: false });
  uploads.value = [...uploads.peek(), upload];
  queue.push(upload.id);
  const { text, start, end } = box.selection();
  const before = start > 0 && !/\s$/.test(text.slice(0, start)) ? "\n" : "";
  box.apply(insertion(text, start, end, `${before}${upload.placeholder}\n`));
}

function startNext(): void {
  while (running < MAX_AT_ONCE && queue.length) {
    running += 1;
    void run(queue.shift()!).finally(() => {
      running -= 1;
      startNext();
    });
  }
}

async function run(id: string): Promise<void> {
  const work = works.get(id);
  if (!work || work.isCancelled) return;
  try {
    const { upload } = await load(() => import("./tus"));
    const { url, filename } = await upload(work.file, csrfToken(), {
      onProgress: (progress) => updateUpload(id, { progress, state: "uploading" }),
      onWaiting: () => updateUpload(id, { state: "waiting" }),
      onStarted: (abort) => {
        work.abort = abort;
        if (work.isCancelled) abort();
      },
    });
    finish(id, url, filename);
  } catch (error) {
    if (!work.isCancelled) updateUpload(id, { state: "failed", problem: (error as Error).message });
  }
}

function finish(id: string, url: string, filename: string): void {
  const upload = uploads.peek().find((each) => each.id === id);
  works.delete(id);
  if (!upload) return;
  // In the syntax of images, recordings of these types have a player in all clients.
  const sign = PLAYED.test(url) ? "!" : "";
  replaceEverywhere(upload, `${sign}[${filename.replace(/[[\]\\\s]+/g, " ").trim()}](${url})`);
  removeUpload(id);
}

/** Replace what stands for an upload in the text, or in the draft that it has become meanwhile. */
function replaceEverywhere({ box, placeholder }: Upload, by: string): void {
  if (!box.replace(placeholder, by)) box.holder.replaceKept?.(placeholder, by);
}

/** Give an upload up: nothing of it stays, neither here nor on the server. */
export function cancelUpload(id: string): void {
  const upload = uploads.peek().find((each) => each.id === id);
  const work = works.get(id);
  if (work) {
    work.isCancelled = true;
    work.abort?.();
  }
  works.delete(id);
  removeUpload(id);
  if (!upload) return;
  if (!upload.box.replace(`${upload.placeholder}\n`, "")) replaceEverywhere(upload, "");
}

/** Give up all uploads of a text that is not wanted any more. */
export function cancelUploadsOf(box: TextBox): void {
  for (const { id } of uploads.peek().filter((each) => each.box === box)) cancelUpload(id);
}

/** Try an upload again that has failed: it goes on where it was. */
export function retryUpload(id: string): void {
  if (!works.has(id)) return;
  updateUpload(id, { state: "uploading", problem: "" });
  queue.push(id);
  startNext();
}
