// Small charts of the evidence, as SVG: R_NX curves, Shepard diagram, scree.
import type { ComponentChildren, JSX } from "preact";
import { formatNumber } from "../state/format";

const WIDTH = 320;
const HEIGHT = 200;
const MARGIN = { left: 40, right: 10, top: 8, bottom: 34 };
const INNER_WIDTH = WIDTH - MARGIN.left - MARGIN.right;
const INNER_HEIGHT = HEIGHT - MARGIN.top - MARGIN.bottom;

interface Axis {
  label: string;
  low: number;
  high: number;
  log?: boolean;
  ticks: number[];
}

const place = (axis: Axis, value: number): number =>
  axis.log
    ? Math.log(value / axis.low) / (Math.log(axis.high / axis.low) || 1)
    : (value - axis.low) / (axis.high - axis.low || 1);
const px = (axis: Axis, value: number): number => MARGIN.left + INNER_WIDTH * place(axis, value);
const py = (axis: Axis, value: number): number => MARGIN.top + INNER_HEIGHT * (1 - place(axis, value));

function Frame({ title, text, x, y, children }: {
  title: string; text: string; x: Axis; y: Axis; children: ComponentChildren;
}): JSX.Element {
  return (
    <figure class="chart">
      <svg viewBox={`0 0 ${WIDTH} ${HEIGHT}`} role="img" aria-label={`${title}. ${text}`}>
        {y.ticks.map((tick) => (
          <g key={tick}>
            <line class="grid" x1={MARGIN.left} x2={WIDTH - MARGIN.right} y1={py(y, tick)} y2={py(y, tick)} />
            <text class="tick" x={MARGIN.left - 5} y={py(y, tick) + 3.5} text-anchor="end">{formatNumber(tick)}</text>
          </g>
        ))}
        {x.ticks.map((tick) => (
          <text key={tick} class="tick" x={px(x, tick)} y={HEIGHT - MARGIN.bottom + 14} text-anchor="middle">{formatNumber(tick)}</text>
        ))}
        <line class="axis" x1={MARGIN.left} x2={WIDTH - MARGIN.right} y1={HEIGHT - MARGIN.bottom} y2={HEIGHT - MARGIN.bottom} />
        <text class="name" x={MARGIN.left + INNER_WIDTH / 2} y={HEIGHT - 4} text-anchor="middle">{x.label}</text>
        <text class="name" transform={`translate(11 ${MARGIN.top + INNER_HEIGHT / 2}) rotate(-90)`} text-anchor="middle">{y.label}</text>
        {children}
      </svg>
      <figcaption><b>{title}.</b> {text}</figcaption>
    </figure>
  );
}

/** At most `most` round numbers from low to high. */
export function roundTicks(low: number, high: number, most = 5): number[] {
  const rough = (high - low) / most || 1;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((factor) => factor * power).find((value) => value >= rough) ?? rough;
  const ticks: number[] = [];
  for (let tick = Math.ceil(low / step) * step; tick <= high + step * 1e-9; tick += step)
    ticks.push(Number(tick.toPrecision(12)));
  return ticks;
}

const largestOf = (values: readonly (number | null)[]): number =>
  values.reduce<number>((largest, value) => Math.max(largest, value ?? 0), 0);

function powersOfTen(low: number, high: number): number[] {
  const ticks: number[] = [];
  for (let tick = 10 ** Math.ceil(Math.log10(low) - 1e-9); tick <= high; tick *= 10) ticks.push(tick);
  return ticks;
}

export interface Curve {
  name: string;
  color: string;
  strong: boolean;
  k: number[];
  /** Null where it is not defined. */
  value: (number | null)[];
}

export function RnxChart({ curves }: { curves: Curve[] }): JSX.Element {
  const largest = Math.max(2, ...curves.flatMap((curve) => curve.k));
  const lowest = Math.min(0, ...curves.flatMap((curve) => curve.value.map((value) => value ?? 0)));
  const x: Axis = { label: "neighborhood size", low: 1, high: largest, log: true, ticks: powersOfTen(1, largest) };
  const y: Axis = { label: "R_NX", low: lowest, high: 1, ticks: roundTicks(lowest, 1) };
  return (
    <Frame title="R_NX curve" x={x} y={y}
      text="Neighborhood preservation for every neighborhood size, rescaled by chance: left is local, right is global. 1 is perfect, 0 is a random embedding.">
      {curves.map((curve) => (
        <polyline key={curve.name} fill="none" stroke={curve.color} stroke-width={curve.strong ? 2.5 : 1.2} opacity={curve.strong ? 1 : 0.75}
          points={curve.k.flatMap((k, i) => {
            const value = curve.value[i];
            return value == null ? [] : [`${px(x, k).toFixed(1)},${py(y, value).toFixed(1)}`];
          }).join(" ")} />
      ))}
    </Frame>
  );
}

export function ShepardChart({ data, embedding }: { data: (number | null)[]; embedding: (number | null)[] }): JSX.Element {
  const [farthest, widest] = [largestOf(data), largestOf(embedding)];
  const x: Axis = { label: "distance in the data", low: 0, high: farthest, ticks: roundTicks(0, farthest, 4) };
  const y: Axis = { label: "in the embedding", low: 0, high: widest, ticks: roundTicks(0, widest, 4) };
  return (
    <Frame title="Shepard diagram" x={x} y={y}
      text="Pairs of rows by their distance in the data and in the embedding. A narrow band along a line means that the embedding preserves distances.">
      <path class="pairs" d={data.map((value, i) => {
        const other = embedding[i];
        return value === null || other == null ? "" : `M${px(x, value).toFixed(1)} ${py(y, other).toFixed(1)}h.01`;
      }).join("")} />
    </Frame>
  );
}

export function ScreeChart({ name, values, share, description }: {
  name: string; values: (number | null)[]; share: boolean; description: string;
}): JSX.Element {
  const high = largestOf(values);
  const x: Axis = { label: "component", low: 0.5, high: values.length + 0.5, ticks: roundTicks(1, values.length, 6).filter(Number.isInteger) };
  const y: Axis = { label: share ? "share of variance" : name, low: 0, high, ticks: roundTicks(0, high, 4) };
  const wide = (INNER_WIDTH / values.length) * 0.7;
  return (
    <Frame title="Scree plot" x={x} y={y} text={description}>
      {values.map((value, i) => {
        const top = py(y, Math.max(0, value ?? 0));
        return <rect key={i} class="bar chosen" x={px(x, i + 1) - wide / 2} y={top} width={wide} height={HEIGHT - MARGIN.bottom - top} />;
      })}
    </Frame>
  );
}
