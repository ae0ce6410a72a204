/** Files that are dropped on a box, or beside it. */

import { useEffect, useState } from "preact/hooks";

function hasFiles(event: DragEvent): boolean {
  return event.dataTransfer?.types.includes("Files") ?? false;
}

/** Return whether files are held over an element, and the handlers that it needs for that. */
export function useDrop(onFiles: (files: File[]) => void) {
  const [isOver, setOver] = useState(false);
  const handlers = {
    onDragOver: (event: DragEvent) => {
      if (!hasFiles(event)) return;
      event.preventDefault();
      setOver(true);
    },
    onDragLeave: (event: DragEvent) => {
      if (!(event.currentTarget as Element).contains(event.relatedTarget as Node | null)) setOver(false);
    },
    onDrop: (event: DragEvent) => {
      setOver(false);
      const files = [...(event.dataTransfer?.files ?? [])];
      if (!files.length) return;
      event.preventDefault();
      onFiles(files);
    },
  };
  return { isOver, handlers };
}

/** Take files that are dropped on the page, beside all boxes. Returns whether files are held over it. */
export function usePageDrop(onFiles: (files: File[]) => void): boolean {
  const [isOver, setOver] = useState(false);
  useEffect(() => {
    const isForPage = (event: DragEvent) => !event.defaultPrevented && !document.querySelector("dialog[open]");
    const over = (event: DragEvent) => setOver(hasFiles(event) && isForPage(event));
    const leave = (event: DragEvent) => {
      if (!event.relatedTarget) setOver(false);
    };
    const drop = (event: DragEvent) => {
      setOver(false);
      const files = [...(event.dataTransfer?.files ?? [])];
      if (files.length && isForPage(event)) onFiles(files);
    };
    document.addEventListener("dragover", over);
    document.addEventListener("dragleave", leave);
    document.addEventListener("drop", drop);
    return () => {
      document.removeEventListener("dragover", over);
      document.removeEventListener("dragleave", leave);
      document.removeEventListener("drop", drop);
    };
  });
  return isOver;
}

// A file that is dropped where none is taken would be shown in place of the page.
for (const kind of ["dragover", "drop"] as const) {
  addEventListener(kind, (event) => {
    if (hasFiles(event)) event.preventDefault();
  });
}
