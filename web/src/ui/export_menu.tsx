// Export: rows as CSV or Parquet, pictures as PNG and SVG, the view as a file or a link.
import type { JSX } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { encodeState } from "../state/link";
import { selectedRows } from "../state/selection";
import type { Store } from "../state/store";
import { count, useShared } from "./context";
import { Icon } from "./icon";
import { makePng, makeSvg } from "./pictures";
import { save } from "./save";

/** Paper is light: the panels are drawn so before, since while it prints a browser takes no new pixels. */
function print(store: Store): void {
  store.printing.value = true;
  requestAnimationFrame(() => requestAnimationFrame(() => {
    globalThis.print();
    store.printing.value = false;
  }));
}

export function ExportMenu(): JSX.Element {
  const shared = useShared();
  const { store, views } = shared;
  const menu = useRef<HTMLDetailsElement>(null);
  const view = store.view.value!;
  const selection = store.selection.value;
  // The browser's own command would print the dark panels of a dark page.
  useEffect(() => {
    const press = (event: KeyboardEvent): void => {
      if ((!event.ctrlKey && !event.metaKey) || event.key !== "p" || store.theme.value === "light") return;
      event.preventDefault();
      print(store);
    };
    globalThis.addEventListener("keydown", press);
    return () => { globalThis.removeEventListener("keydown", press); };
  }, []);
  const close = (): void => { if (menu.current) menu.current.open = false; };
  const act = (action: () => Promise<void>) => (): void => {
    close();
    void store.attempt(action);
  };
  const rows = (): number[] | null => (selection ? selectedRows(store) : null);
  const what = selection ? `${count(selection.count)} selected rows` : "all rows";
  return (
    <details class="menu" ref={menu} onKeyDown={(event) => { if (event.key === "Escape") close(); }}>
      <summary><Icon name="save" /> Export</summary>
      <div class="menu-items">
        {view.can.export && ["csv", "parquet"].map((format) => (
          <button key={format} type="button" onClick={act(async () => {
            save(await store.client.export(rows(), format), `${selection ? "selection" : "rows"}.${format}`);
          })}>{what} as {format === "csv" ? "CSV" : "Parquet"}</button>
        ))}
        <button type="button" onClick={act(async () => { save(await makePng(store, [...views.values()]), "embeddings.png"); })}>Picture as PNG</button>
        <button type="button" onClick={act(() => { save(makeSvg(store, [...views.values()]), "embeddings.svg"); return Promise.resolve(); })}>Picture as SVG</button>
        {view.can.export_html && (
          <button type="button" onClick={act(async () => {
            save(await store.client.exportHtml(encodeState(store)), "view.html");
          })}>This view as one HTML file</button>
        )}
        {shared.linkable && (
          <button type="button" onClick={act(async () => {
            const link = `${location.href.replace(/#.*/, "")}#${encodeState(store)}`;
            history.replaceState(null, "", link);
            await navigator.clipboard.writeText(link).then(
              () => { store.tell("The link to this state is in the clipboard."); },
              () => { store.tell("The link to this state is in the address line."); },
            );
          })}>Copy a link to this state</button>
        )}
        <button type="button" onClick={() => { close(); print(store); }}>Print</button>
      </div>
    </details>
  );
}
