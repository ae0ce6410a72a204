/**
 * Who is signed in in this browser, as the service worker needs to know it.
 *
 * A worker reads no cookies and no local storage; it and the page share this database.
 */

export interface Account {
  userId: number;
  /** Whether the browser ends subscriptions of pages that do not show every push, as Safari does. */
  showsEveryPush: boolean;
}

const DATABASE = "parley.notifications";
const STORE = "account";
const KEY = "current";

async function run<Result>(mode: IDBTransactionMode, action: (store: IDBObjectStore) => IDBRequest<Result>): Promise<Result> {
  const opening = indexedDB.open(DATABASE, 1);
  opening.onupgradeneeded = () => opening.result.createObjectStore(STORE);
  const database = await settled(opening);
  try {
    return await settled(action(database.transaction(STORE, mode).objectStore(STORE)));
  } finally {
    database.close();
  }
}

function settled<Result>(request: IDBRequest<Result>): Promise<Result> {
  return new Promise((resolve, reject) => {
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => reject(request.error ?? new Error("The browser's database failed."));
  });
}

/** Return the account that is signed in; undefined if none is. */
export function currentAccount(): Promise<Account | undefined> {
  return run("readonly", (store) => store.get(KEY) as IDBRequest<Account | undefined>);
}

export async function keepAccount(account: Account): Promise<void> {
  await run("readwrite", (store) => store.put(account, KEY));
}

/** Forget the account: what is pushed from now on is not shown. */
export async function forgetAccount(): Promise<void> {
  await run("readwrite", (store) => store.delete(KEY));
}
