import type { Reply } from "../data/transport";

/** Hand a file to the browser. */
export function save(content: Reply | Blob, name: string): void {
  const blob = content instanceof Blob ? content : new Blob([content.body.slice()], { type: content.type });
  const url = URL.createObjectURL(blob);
  const link = Object.assign(document.createElement("a"), { href: url, download: name });
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => { URL.revokeObjectURL(url); }, 10_000);
}
