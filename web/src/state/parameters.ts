// Values of a form's fields, checked by the declared limits before they are sent.
import type { Parameter } from "../data/types";

export type Parsed = { value: unknown } | { error: string };

export function parseParameter(parameter: Parameter, text: string): Parsed {
  const trimmed = text.trim();
  if (trimmed === "")
    return parameter.optional ? { value: null } : { error: `${parameter.name} needs a value.` };
  if (parameter.kind === "boolean") return { value: trimmed === "true" };
  if (parameter.kind === "text") return { value: trimmed };
  if (parameter.choices?.includes(trimmed)) return { value: trimmed };
  if (parameter.kind === "choice")
    return { error: `${trimmed} is not among ${(parameter.choices ?? []).join(", ")}.` };
  const number = Number(trimmed);
  if (!Number.isFinite(number)) return { error: `${trimmed} is not a number.${words(parameter)}` };
  if (parameter.kind === "integer" && !Number.isInteger(number))
    return { error: `${trimmed} is not a whole number.` };
  const { low, high, low_open, high_open } = parameter;
  if (low !== null && (low_open ? number <= low : number < low))
    return { error: `${trimmed} is too small: ${low_open ? "more than" : "at least"} ${low}.` };
  if (high !== null && (high_open ? number >= high : number > high))
    return { error: `${trimmed} is too large: ${high_open ? "less than" : "at most"} ${high}.` };
  return { value: number };
}

const words = (parameter: Parameter): string =>
  parameter.choices?.length ? ` Words that are allowed: ${parameter.choices.join(", ")}.` : "";
