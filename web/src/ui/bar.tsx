import type { JSX } from "preact";

/** A horizontal bar of a share between 0 and 1; the number beside it says the same to readers. */
export function Bar({ share }: { share: number }): JSX.Element {
  return (
    <span class="meter" aria-hidden="true">
      <span style={{ width: `${100 * Math.max(0, Math.min(1, share))}%` }} />
    </span>
  );
}
