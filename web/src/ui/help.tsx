import type { JSX } from "preact";
import { useRef } from "preact/hooks";
import { Icon } from "./icon";

const KEYS: [string, string][] = [
  ["drag", "move the picture; in three dimensions turn it (with Alt: move)"],
  ["Shift + drag", "lasso; with Ctrl add to the selection, with Alt take away from it"],
  ["wheel or pinch", "zoom"],
  ["click", "choose a point: its values, its true neighbors as lines in every panel"],
  ["double click, 0", "show all points"],
  ["arrows, + and −", "move and zoom the panel that has the focus"],
  ["Enter", "choose the point in the middle"],
  ["N", "go to the nearest true neighbor of the chosen point"],
  ["Escape", "forget the chosen point, then the selection"],
  ["Alt + click in the legend", "show only this class"],
];

export function HelpDialog(): JSX.Element {
  const dialog = useRef<HTMLDialogElement>(null);
  return (
    <>
      <button type="button" class="icon" aria-label="help" title="Help" onClick={() => { dialog.current?.showModal(); }}>
        <Icon name="help" />
      </button>
      <dialog ref={dialog} aria-label="help">
        <h2>How to use this page</h2>
        <dl class="keys">
          {KEYS.map(([key, text]) => [<dt key={key}><kbd>{key}</kbd></dt>, <dd key={`${key}-text`}>{text}</dd>])}
        </dl>
        <p>A solid line leads to a true neighbor that is a neighbor in the panel too; a dashed line to
          one that the panel has moved away. A hollow diamond is a new point that is unlike the
          training points.</p>
        <p class="soft">Nothing leaves this computer. Libraries in this page: Preact, Signals and Flechette;
          their licenses are in the file licenses.txt beside it.</p>
        <form method="dialog"><button>Close</button></form>
      </dialog>
    </>
  );
}
