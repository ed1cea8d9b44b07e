// Checks of what JSON.parse returns. A check returns its value with a type, or throws a Mismatch that
// names the place; the types of data/types.ts are inferred from such checks, so that each answer of
// the server is declared once.

export class Mismatch extends Error {
  constructor(path: string, expected: string) {
    super(`${path} is not ${expected}`);
    this.name = "Mismatch";
  }
}

/** `path` says where the value stands, for the message. */
export type Check<T> = (value: unknown, path: string) => T;
export type Checked<C> = C extends Check<infer T> ? T : never;

type Fields = Record<string, Check<unknown>>;
type Shape<F extends Fields> = { [K in keyof F]: Checked<F[K]> };

function require(holds: boolean, path: string, expected: string): void {
  if (!holds) throw new Mismatch(path, expected);
}

export const unknown: Check<unknown> = (value) => value;

export const text: Check<string> = (value, path) => {
  require(typeof value === "string", path, "a text");
  return value as string;
};

export const flag: Check<boolean> = (value, path) => {
  require(typeof value === "boolean", path, "true or false");
  return value as boolean;
};

export const number: Check<number> = (value, path) => {
  require(Number.isFinite(value), path, "a number"); // JSON.parse makes 1e999 infinite
  return value as number;
};

/** A number of things, or the index of one. */
export const count: Check<number> = (value, path) => {
  require(Number.isSafeInteger(value) && (value as number) >= 0, path, "a whole number from 0 on");
  return value as number;
};

export const oneOf = <const T extends readonly (string | number)[]>(...known: T): Check<T[number]> => (value, path) => {
  require(known.includes(value as T[number]), path, `one of ${known.join(", ")}`);
  return value as T[number];
};

export const nullable = <T>(check: Check<T>): Check<T | null> => (value, path) =>
  value === null ? null : check(value, path);

export const either = <A, B>(first: Check<A>, second: Check<B>): Check<A | B> => (value, path) => {
  try {
    return first(value, path);
  } catch {
    return second(value, path);
  }
};

export const list = <T>(check: Check<T>): Check<T[]> => (value, path) => {
  require(Array.isArray(value), path, "a list");
  const items = value as unknown[];
  for (let i = 0; i < items.length; i++) check(items[i], `${path}[${i}]`);
  return items as T[];
};

export const pair = <A, B>(first: Check<A>, second: Check<B>): Check<[A, B]> => (value, path) => {
  require(Array.isArray(value) && value.length === 2, path, "a pair");
  const [a, b] = value as [unknown, unknown];
  first(a, `${path}[0]`);
  second(b, `${path}[1]`);
  return value as [A, B];
};

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

export const dictionary = <T>(check: Check<T>): Check<Record<string, T>> => (value, path) => {
  require(isObject(value), path, "an object");
  for (const [key, item] of Object.entries(value as Record<string, unknown>)) check(item, `${path}.${key}`);
  return value as Record<string, T>;
};

/** An object with these fields; others are left as they are. */
export const object = <F extends Fields>(fields: F): Check<Shape<F>> => (value, path) => {
  require(isObject(value), path, "an object");
  const found = value as Record<string, unknown>;
  for (const [key, check] of Object.entries(fields)) check(found[key], `${path}.${key}`);
  return value as Shape<F>;
};

/** An object in which some fields may be absent. */
export const extended = <F extends Fields, O extends Fields>(
  fields: F, optional: O,
): Check<Shape<F> & Partial<Shape<O>>> => (value, path) => {
  object(fields)(value, path);
  const found = value as Record<string, unknown>;
  for (const [key, check] of Object.entries(optional)) if (found[key] !== undefined) check(found[key], `${path}.${key}`);
  return value as Shape<F> & Partial<Shape<O>>;
};

/** An object whose field `tag` says which of several shapes it has. */
export const variant = <C extends Record<string, Check<object>>>(tag: string, cases: C): Check<Checked<C[keyof C]>> => (value, path) => {
  require(isObject(value), path, "an object");
  const kind = String((value as Record<string, unknown>)[tag]);
  const check = Object.hasOwn(cases, kind) ? cases[kind] : undefined;
  if (!check) throw new Mismatch(`${path}.${tag}`, `one of ${Object.keys(cases).join(", ")}`);
  return check(value, path) as Checked<C[keyof C]>;
};
