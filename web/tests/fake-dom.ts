/** Elements into which components can be rendered: as much of a document as Preact asks for. */

class FakeNode {
  parentNode: FakeElement | null = null;

  get nextSibling(): FakeNode | null {
    const siblings = this.parentNode?.childNodes ?? [];
    return siblings[siblings.indexOf(this) + 1] ?? null;
  }

  remove(): void {
    const siblings = this.parentNode?.childNodes ?? [];
    const index = siblings.indexOf(this);
    if (index >= 0) siblings.splice(index, 1);
    this.parentNode = null;
  }
}

class FakeText extends FakeNode {
  readonly nodeType = 3;

  constructor(public data: string) {
    super();
  }

  get textContent(): string {
    return this.data;
  }
}

export class FakeElement extends FakeNode {
  readonly nodeType = 1;
  readonly namespaceURI = "http://www.w3.org/1999/xhtml";
  readonly childNodes: FakeNode[] = [];
  readonly attributes = new Map<string, string>();
  readonly style = { setProperty: () => undefined };

  constructor(readonly localName: string) {
    super();
  }

  get firstChild(): FakeNode | null {
    return this.childNodes[0] ?? null;
  }

  get textContent(): string {
    return this.childNodes.map((each) => (each as FakeElement | FakeText).textContent).join("");
  }

  insertBefore(node: FakeNode, before: FakeNode | null): void {
    node.remove();
    node.parentNode = this;
    this.childNodes.splice(before ? this.childNodes.indexOf(before) : this.childNodes.length, 0, node);
  }

  setAttribute(name: string, value: unknown): void {
    this.attributes.set(name, String(value));
  }

  removeAttribute(name: string): void {
    this.attributes.delete(name);
  }

  addEventListener(): void {}

  removeEventListener(): void {}

  /** Return the elements within this one that have an attribute. */
  *having(name: string): Generator<FakeElement> {
    for (const child of this.childNodes) {
      if (!(child instanceof FakeElement)) continue;
      if (child.attributes.has(name)) yield child;
      yield* child.having(name);
    }
  }
}

/** What the global `document` is replaced with. */
export const FAKE_DOCUMENT = {
  cookie: "",
  documentElement: {},
  addEventListener: () => undefined,
  createElementNS: (_namespace: string, name: string) => new FakeElement(name),
  createTextNode: (text: string) => new FakeText(text),
};
