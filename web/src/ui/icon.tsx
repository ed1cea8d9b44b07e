import type { JSX } from "preact";

const PATHS = {
  plus: "M8 3v10M3 8h10",
  minus: "M3 8h10",
  fit: "M3 6V3h3M10 3h3v3M13 10v3h-3M6 13H3v-3",
  close: "M4 4l8 8M12 4l-8 8",
  pan: "M8 2v12M2 8h12M8 2L6 4M8 2l2 2M8 14l-2-2M8 14l2-2M2 8l2-2M2 8l2 2M14 8l-2-2M14 8l-2 2",
  lasso: "M5 10C2 9 2 3.500 8 3.500S14 9 9.500 9.800 5 10 5 12s2 2 2 .3S5.500 10.500 5 10",
  sun: "M8 5a3 3 0 100 6 3 3 0 000-6zM8 1v2M8 13v2M1 8h2M13 8h2M3 3l1.400 1.400M11.600 11.600L13 13M13 3l-1.400 1.400M4.400 11.600L3 13",
  moon: "M12.500 9.500A5 5 0 016.500 3.500 5 5 0 1012.500 9.500z",
  auto: "M8 2.500a5.500 5.500 0 100 11 5.500 5.500 0 000-11zM8 2.500v11",
  help: "M8 14.500A6.500 6.500 0 108 1.500a6.500 6.500 0 000 13zM6.200 6.200a1.800 1.800 0 113 1.400C8.400 8.200 8 8.500 8 9.300M8 11.500v.2",
  search: "M7 2.500a4.500 4.500 0 100 9 4.500 4.500 0 000-9zM10.500 10.500L14 14",
  save: "M8 2v8M5 7.500L8 10.500l3-3M3 13h10",
} as const;

export function Icon({ name }: { name: keyof typeof PATHS }): JSX.Element {
  return (
    <svg class="glyph" viewBox="0 0 16 16" aria-hidden="true">
      <path d={PATHS[name]} fill="none" stroke="currentColor" stroke-width="1.6" stroke-linecap="round" stroke-linejoin="round" />
    </svg>
  );
}
