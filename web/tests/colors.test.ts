import { describe, expect, it } from "vitest";
import { BACKGROUND, CLASS_COLORS, contrast, difference, shade, type Theme } from "../src/render/colors";

const THEMES: Theme[] = ["light", "dark"];
const VISIONS = ["usual", "protanopia", "deuteranopia", "tritanopia"] as const;

describe.each(THEMES)("class colors, %s", (theme) => {
  it.each(VISIONS)("differ for %s vision", (vision) => {
    const colors = CLASS_COLORS[theme];
    for (const [i, a] of colors.entries())
      for (const b of colors.slice(0, i)) expect(difference(a, b, vision)).toBeGreaterThan(20);
  });

  it("stand out from the background", () => {
    for (const color of CLASS_COLORS[theme]) expect(contrast(color, BACKGROUND[theme])).toBeGreaterThan(1.5);
  });
});

describe.each(THEMES)("continuous scales, %s", (theme) => {
  it("change lightness in one direction, away from or toward the background", () => {
    for (const scale of ["values", "errors"] as const) {
      const steps = Array.from({ length: 20 }, (_, i) => contrast(shade(scale, theme, i / 19), [0, 0, 0]));
      const sign = Math.sign(steps.at(-1)! - steps[0]!);
      for (let i = 1; i < steps.length; i++) expect(sign * (steps[i]! - steps[i - 1]!)).toBeGreaterThan(0);
    }
  });
});

it("knows black, white and equal colors", () => {
  expect(contrast([0, 0, 0], [255, 255, 255])).toBeCloseTo(21, 1);
  expect(difference([10, 200, 30], [10, 200, 30])).toBe(0);
});
