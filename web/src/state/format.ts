// Numbers and times as the user reads them.

export function formatNumber(value: number): string {
  if (!Number.isFinite(value)) return "–";
  const text = String(Number(value.toPrecision(4)));
  return text.replace("-", "−");
}

export function formatDuration(seconds: number): string {
  if (seconds < 10) return `${Number(seconds.toFixed(1))} s`;
  return seconds < 120 ? `${Math.round(seconds)} s` : `${Math.round(seconds / 60)} min`;
}
