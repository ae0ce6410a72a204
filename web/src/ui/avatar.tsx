import type { User } from "../model/state";

/** The picture of a person. It is decoration: the name stands beside it. */
export function Avatar({ user, size = 20 }: { user: User | undefined; size?: number }) {
  const url = user?.avatar_url ?? (user ? `/avatar/${user.user_id}` : undefined);
  return url ? (
    <img class="avatar" src={url} alt="" width={size} height={size} loading="lazy" decoding="async" />
  ) : (
    <span class="avatar" aria-hidden="true" />
  );
}
