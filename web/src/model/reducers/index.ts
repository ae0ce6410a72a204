/** One reducer for each type of event. */

import { channelReducers } from "./channels";
import { messageReducers } from "./messages";
import { personalReducers } from "./personal";
import { realmReducers } from "./realm";
import type { Reducers } from "./reducer";
import { userReducers } from "./users";

export const reducers: Reducers = {
  ...channelReducers,
  ...messageReducers,
  ...personalReducers,
  ...realmReducers,
  ...userReducers,
};
