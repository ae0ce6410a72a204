import { Component, type FunctionComponent, h } from "preact";

/** Render a component again only if a property or a signal that it reads has changed. */
export function memo<P extends object>(component: FunctionComponent<P>): FunctionComponent<P> {
  class Memo extends Component<P> {
    override shouldComponentUpdate(next: P): boolean {
      const now = this.props as P;
      for (const key in next) if (next[key] !== now[key]) return true;
      for (const key in now) if (!(key in next)) return true;
      return false;
    }
    render() {
      return h(component, this.props as P);
    }
  }
  return Memo as unknown as FunctionComponent<P>;
}
