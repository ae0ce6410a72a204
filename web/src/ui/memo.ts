import { Component, type FunctionComponent, h } from "preact";

/** Render a component again only if a property or a signal that it reads has changed. */
export function memo<P extends object>(component: FunctionComponent<P>): FunctionComponent<P> {
  class Memo extends Component<P> {
    override shouldComponentUpdate(next: P): boolean {
      const keys = new Set([...Object.keys(next), ...Object.keys(this.props)]) as Set<keyof P>;
      for (const key of keys) if (next[key] !== (this.props as P)[key]) return true;
      return false;
    }
    render() {
      return h(component, this.props as P);
    }
  }
  return Memo as unknown as FunctionComponent<P>;
}
