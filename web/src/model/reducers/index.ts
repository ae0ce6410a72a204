/** One reducer for each type of event. */

import type { Changes } from "../changes";
import type { State } from "../state";
import { channelReducers } from "./channels";
import { messageReducers } from "./messages";
import { personalReducers } from "./personal";
import { realmReducers } from "./realm";
import { userReducers } from "./users";

export interface ServerEvent {
  id?: number;
  type: string;
  op?: string;
  [field: string]: any;
}

export type Reducer = (state: State, event: ServerEvent, changes: Changes) => void;

export const reducers: Record<string, Reducer> = {
  ...channelReducers,
  ...messageReducers,
  ...personalReducers,
  ...realmReducers,
  ...userReducers,
};
