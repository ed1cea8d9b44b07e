// Colors that color-blind people can tell apart, on a light and on a dark background.

export type Rgb = readonly [number, number, number];
export type Theme = "light" | "dark";

const hex = (text: string): Rgb => [1, 3, 5].map((i) => parseInt(text.slice(i, i + 2), 16)) as unknown as Rgb;

/** Colors of classes: on light as in lowd.plot, on dark near them, chosen so that the worst pair
 * of any kind of color vision differs most. */
export const CLASS_COLORS: Record<Theme, readonly Rgb[]> = {
  light: [
    "#2D3DC3", "#CDB814", "#D84CA1", "#018143", "#2BDBE5",
    "#A47701", "#4F0564", "#8EBE84", "#099AEB", "#4B0100",
  ].map(hex),
  dark: [
    "#6E4CF7", "#EFE62B", "#FF5FAD", "#1C7068", "#3AF3FF",
    "#B39014", "#973EA8", "#C2E6B9", "#16A2FF", "#9F4B2F",
  ].map(hex),
};

export const MISSING: Record<Theme, Rgb> = { light: [176, 176, 176], dark: [105, 110, 118] };
export const BACKGROUND: Record<Theme, Rgb> = { light: [255, 255, 255], dark: [20, 23, 28] };

/** Viridis for values; both ends stay visible on their background. */
const VIRIDIS = ["#440154", "#472D7B", "#3B528B", "#2C728E", "#21918C", "#28AE80", "#5EC962", "#ADDC30", "#FDE725"].map(hex);
/** Blue, gray, red for values with a natural zero. */
const DIVERGING: Record<Theme, readonly Rgb[]> = {
  light: ["#053061", "#2166AC", "#4393C3", "#92C5DE", "#C9CED3", "#F4A582", "#D6604D", "#B2182B", "#67001F"].map(hex),
  dark: ["#7CC4FF", "#4FA3E8", "#3B7FBF", "#3A5F85", "#4A4F57", "#8A5A4C", "#C96A4F", "#EE8460", "#FFB08F"].map(hex),
};
/** Errors: pale where the map can be believed, strong where it cannot. */
const ERRORS: Record<Theme, readonly Rgb[]> = {
  light: ["#D5DAE0", "#E8C9A8", "#F3A86B", "#EA7A3B", "#CF4A1E", "#99250F", "#5F0F0A"].map(hex),
  dark: ["#3B424C", "#6A4F3E", "#9C6136", "#CF7A33", "#F29A3F", "#FFC061", "#FFE7A8"].map(hex),
};

export type ScaleName = "values" | "diverging" | "errors";

/** The color at share 0..1 of a scale. */
export function shade(scale: ScaleName, theme: Theme, share: number): Rgb {
  const low = scale === "values" ? (theme === "dark" ? 0.12 : 0) : 0;
  const high = scale === "values" && theme === "light" ? 0.94 : 1;
  const stops = scale === "values" ? VIRIDIS : scale === "diverging" ? DIVERGING[theme] : ERRORS[theme];
  const at = (low + (high - low) * Math.max(0, Math.min(1, share))) * (stops.length - 1);
  const first = Math.min(stops.length - 2, Math.floor(at));
  const from = stops[first]!;
  const to = stops[first + 1]!;
  return from.map((c, i) => Math.round(c + (to[i]! - c) * (at - first))) as unknown as Rgb;
}

export function classColor(theme: Theme, code: number): Rgb {
  const colors = CLASS_COLORS[theme];
  return colors[code % colors.length]!;
}

/** Another shape for every ten classes, as in lowd.plot. */
export const classShape = (code: number): number => Math.floor(code / CLASS_COLORS.light.length);

export const css = (color: Rgb): string => `rgb(${color[0]}, ${color[1]}, ${color[2]})`;

/** Perceived difference in CIE Lab (Delta E 1976); optionally as a dichromat sees it. */
export function difference(a: Rgb, b: Rgb, vision: keyof typeof DICHROMACY | "usual" = "usual"): number {
  const [p, q] = [a, b].map((color) => toLab(vision === "usual" ? toLinear(color) : mix(DICHROMACY[vision], toLinear(color))));
  return Math.hypot(p![0] - q![0], p![1] - q![1], p![2] - q![2]);
}

// Machado, Oliveira and Fernandes (2009), full severity.
const DICHROMACY = {
  protanopia: [0.152286, 1.052583, -0.204868, 0.114503, 0.786281, 0.099216, -0.003882, -0.048116, 1.051998],
  deuteranopia: [0.367322, 0.860646, -0.227968, 0.280085, 0.672501, 0.047413, -0.01182, 0.04294, 0.968881],
  tritanopia: [1.255528, -0.076749, -0.178779, -0.078411, 0.930809, 0.147602, 0.004733, 0.691367, 0.3039],
} as const;

const toLinear = (color: Rgb): Rgb =>
  color.map((c) => {
    const share = c / 255;
    return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
  }) as unknown as Rgb;

const mix = (m: readonly number[], c: Rgb): Rgb =>
  [0, 3, 6].map((i) => Math.max(0, Math.min(1, m[i]! * c[0] + m[i + 1]! * c[1] + m[i + 2]! * c[2]))) as unknown as Rgb;

function toLab(linear: Rgb): Rgb {
  const [x, y, z] = mixFree([0.4124, 0.3576, 0.1805, 0.2126, 0.7152, 0.0722, 0.0193, 0.1192, 0.9505], linear);
  const f = (t: number): number => (t > 0.008856 ? Math.cbrt(t) : 7.787 * t + 16 / 116);
  const [fx, fy, fz] = [f(x / 0.95047), f(y), f(z / 1.08883)];
  return [116 * fy - 16, 500 * (fx - fy), 200 * (fy - fz)];
}

const mixFree = (m: readonly number[], c: Rgb): Rgb =>
  [0, 3, 6].map((i) => m[i]! * c[0] + m[i + 1]! * c[1] + m[i + 2]! * c[2]) as unknown as Rgb;

/** Relative luminance contrast (WCAG) of two colors. */
export function contrast(a: Rgb, b: Rgb): number {
  const light = (color: Rgb): number => {
    const [r, g, bl] = toLinear(color);
    return 0.2126 * r + 0.7152 * g + 0.0722 * bl;
  };
  const [high, low] = [Math.max(light(a), light(b)), Math.min(light(a), light(b))];
  return (high + 0.05) / (low + 0.05);
}
