import type { JSX } from "preact";
import { css, type Rgb } from "../render/colors";

// The shapes of marks as polygons in a box of 16 pixels; a disc has none.
const OUTLINES = [
  "",
  "3,3 13,3 13,13 3,13",
  "8,2 14,13 2,13",
  "3,5 5,3 8,6 11,3 13,5 10,8 13,11 11,13 8,10 5,13 3,11 6,8",
  "8,1 15,8 8,15 1,8",
  "8,14 14,3 2,3",
];

/** A mark of the legend. */
export function Swatch({ color, shape }: { color: Rgb; shape: number }): JSX.Element {
  const outline = OUTLINES[shape % OUTLINES.length]!;
  return (
    <svg class="swatch" viewBox="0 0 16 16" aria-hidden="true">
      {outline ? <polygon points={outline} fill={css(color)} /> : <circle cx="8" cy="8" r="6" fill={css(color)} />}
    </svg>
  );
}
