import { useEffect, useState } from "preact/hooks";
import { i18n } from "../i18n";
import { Dialog, openDialog } from "./dialog";

interface Picture {
  /** What is shown. */
  source: string;
  /** What is opened in a new tab. */
  address: string;
  name: string;
}

function pictureOf(link: HTMLAnchorElement): Picture {
  const image = link.querySelector("img")!;
  return { source: sourceOf(link, image), address: link.href, name: image.alt };
}

function sourceOf(link: HTMLAnchorElement, image: HTMLImageElement): string {
  // Pictures of other hosts are loaded through the server's proxy only.
  if (new URL(link.href).origin !== location.origin) return image.src;
  // What browsers cannot display, they get in another format.
  const { transcodedImage } = image.dataset;
  return transcodedImage ? image.src.replace(/[^/]+$/, transcodedImage) : link.href;
}

/** Show a picture of a message, and let the user go through all that are in the feed. */
export function openLightbox(link: HTMLAnchorElement): void {
  const scope = link.closest("[role=feed]") ?? link.closest(".message-body")!;
  const links = [...scope.querySelectorAll<HTMLAnchorElement>(".message_inline_image a:has(img), .picture-link")];
  openDialog((close) => <Lightbox pictures={links.map(pictureOf)} first={links.indexOf(link)} onClose={close} />);
}

function Lightbox({ pictures, first, onClose }: { pictures: Picture[]; first: number; onClose: () => void }) {
  const [index, setIndex] = useState(Math.max(0, first));
  const [isLarge, setLarge] = useState(false);
  const picture = pictures[index]!;
  const turn = (by: number) => {
    setLarge(false);
    setIndex((now) => Math.min(pictures.length - 1, Math.max(0, now + by)));
  };
  useEffect(() => {
    const onKeyDown = (event: KeyboardEvent) => {
      const right = document.dir === "rtl" ? -1 : 1;
      if (event.key === "ArrowLeft") turn(-right);
      else if (event.key === "ArrowRight") turn(right);
      else return;
      event.preventDefault();
    };
    document.addEventListener("keydown", onKeyDown);
    return () => document.removeEventListener("keydown", onKeyDown);
  }, []);
  return (
    <Dialog
      title={picture.name || i18n.t("Picture")}
      size="full"
      onClose={onClose}
      footer={
        <>
          <span class="lightbox-count">{pictures.length > 1 ? `${index + 1} / ${pictures.length}` : null}</span>
          <button type="button" aria-disabled={index === 0} onClick={() => turn(-1)}>{i18n.t("Previous")}</button>
          <button type="button" aria-disabled={index === pictures.length - 1} onClick={() => turn(1)}>{i18n.t("Next")}</button>
          <a class="button" href={picture.address} target="_blank" rel="noopener noreferrer">{i18n.t("Open in a new tab")}</a>
        </>
      }
    >
      <button
        type="button"
        class={`lightbox ${isLarge ? "is-large" : ""}`}
        aria-pressed={isLarge}
        aria-label={i18n.t("Full size")}
        onClick={() => setLarge(!isLarge)}
      >
        <img key={picture.source} src={picture.source} alt={picture.name} />
      </button>
    </Dialog>
  );
}
