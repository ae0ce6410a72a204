/** People who can be chosen for compliance. */

import { i18n } from "../../../i18n";
import { type Unfit, whyUnfit } from "../../settings/parts/named-people";

/** What was written by people who have left, and by bots, is searched and held, too. */
export const takesAll: Unfit = () => undefined;

export const whyNoOfficer: Unfit = (user, without) => (user.is_bot || user.is_guest ? i18n.t("cannot be an officer") : whyUnfit(user, without));
