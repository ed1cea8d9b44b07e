import type { CSSProperties, JSX } from "preact";
import { useEffect, useState } from "preact/hooks";
import { useStore } from "./context";

/** The picture of a row, if the data have pictures. */
export function Thumbnail({ row, size }: { row: number; size: number }): JSX.Element | null {
  const store = useStore();
  const shape = store.view.value?.thumbnails ?? null;
  const [found, setFound] = useState<{ url: string; at: [number, number] | null } | null>(null);
  useEffect(() => {
    let current = true;
    setFound(null);
    if (shape)
      store.client.getThumbnail(row).then(
        (image) => { if (current) setFound(image); },
        () => undefined, // a picture is an extra: its absence needs no message
      );
    return () => { current = false; };
  }, [row, shape, store]);
  if (!shape) return null;
  const zoom = Math.max(1, Math.round(size / shape.height));
  const [width, height] = [shape.width * zoom, shape.height * zoom];
  const style: CSSProperties = { width: `${width}px`, height: `${height}px` };
  if (found) {
    style.backgroundImage = `url(${found.url})`;
    style.backgroundSize = found.at ? `${(shape.across ?? 1) * width}px auto` : `${width}px ${height}px`;
    if (found.at) style.backgroundPosition = `-${found.at[0] * width}px -${found.at[1] * height}px`;
  }
  return <div class="thumbnail" role="img" aria-label={`picture of ${store.title(row)}`} style={style} />;
}
