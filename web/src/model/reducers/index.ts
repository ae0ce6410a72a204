/** One reducer for each type of event. */

import { channelReducers } from "./channels";
import { messageReducers } from "./messages";
import { personalReducers } from "./personal";
import { pinReducers } from "./pins";
import { realmReducers } from "./realm";
import type { Reducers } from "./reducer";
import { topicDescriptionReducers } from "./topic-descriptions";
import { userReducers } from "./users";

export const reducers: Reducers = {
  ...channelReducers,
  ...messageReducers,
  ...personalReducers,
  ...pinReducers,
  ...realmReducers,
  ...topicDescriptionReducers,
  ...userReducers,
};
