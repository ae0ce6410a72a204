/** The icon of the tab, with how much is unread on it. */

const SIZE = 64;
const BADGE = "#c62828";

/** Return what the badge says: it has room for two digits. */
export function badgeText(count: number): string {
  return count > 99 ? "99+" : String(count);
}

export class TabIcon {
  readonly #plain: string;
  #picture: Promise<HTMLImageElement> | undefined;
  #shown = "";

  constructor(private readonly link: HTMLLinkElement) {
    this.#plain = link.href;
  }

  /** Show a count; none shows the icon as it was. */
  async show(count: number): Promise<void> {
    const text = count > 0 ? badgeText(count) : "";
    if (text === this.#shown) return;
    this.#shown = text;
    if (!text) {
      this.link.href = this.#plain;
      return;
    }
    try {
      const picture = await (this.#picture ??= loaded(this.#plain));
      // Meanwhile it may have become another count.
      if (text === this.#shown) this.link.href = drawn(picture, text);
    } catch {
      // The icon cannot be loaded or drawn, and stays as it is; it is tried again with the next count.
      this.#picture = undefined;
    }
  }
}

async function loaded(address: string): Promise<HTMLImageElement> {
  const picture = new Image(SIZE, SIZE);
  picture.src = address;
  await picture.decode();
  return picture;
}

function drawn(picture: HTMLImageElement, text: string): string {
  const canvas = document.createElement("canvas");
  canvas.width = canvas.height = SIZE;
  const context = canvas.getContext("2d")!;
  context.drawImage(picture, 0, 0, SIZE, SIZE);
  const height = 38;
  const width = text.length === 1 ? height : text.length === 2 ? 48 : SIZE;
  context.fillStyle = BADGE;
  context.beginPath();
  context.roundRect(SIZE - width, SIZE - height, width, height, height / 2);
  context.fill();
  context.fillStyle = "#fff";
  context.font = `bold ${text.length > 2 ? 26 : 32}px sans-serif`;
  context.textAlign = "center";
  context.textBaseline = "middle";
  context.fillText(text, SIZE - width / 2, SIZE - height / 2 + 2);
  return canvas.toDataURL("image/png");
}
