/** Parts that are loaded when they are first shown. */

import type { ComponentType, FunctionComponent } from "preact";
import { h } from "preact";
import { useEffect, useState } from "preact/hooks";

const RELOADED = "parley.reloaded";

/**
 * Load a module of the page that is not there from the start.
 *
 * After an upgrade its file may be gone: then the page is loaded anew, once, which brings the new
 * one. What is being written is kept in the browser.
 */
export async function load<Module>(fetchModule: () => Promise<Module>): Promise<Module> {
  try {
    const loaded = await fetchModule();
    sessionStorage.removeItem(RELOADED);
    return loaded;
  } catch (error) {
    if (navigator.onLine && !sessionStorage.getItem(RELOADED)) {
      sessionStorage.setItem(RELOADED, "1");
      location.reload();
    }
    throw error;
  }
}

/** Make a component of a module's default export, loaded when it is first rendered. */
export function lazy<P extends object>(fetchModule: () => Promise<{ default: ComponentType<P> }>): FunctionComponent<P> {
  let loaded: ComponentType<P> | undefined;
  return function Lazy(props: P) {
    const [component, setComponent] = useState<ComponentType<P> | undefined>(() => loaded);
    const [error, setError] = useState<Error | undefined>(undefined);
    useEffect(() => {
      if (loaded) return;
      load(fetchModule).then(
        (module) => {
          loaded = module.default;
          setComponent(() => module.default);
        },
        (failed: Error) => setError(failed),
      );
    }, []);
    if (error) return <p role="alert">{error.message}</p>;
    return component ? h(component as ComponentType<object>, props) : null;
  };
}
