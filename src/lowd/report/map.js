// The interactive scatter plot of the report: points on a canvas, without any library. The data are
// the JSON element "points"; texts of the data enter the page through textContent only.
"use strict";
(() => {
  const element = (id) => document.getElementById(id);
  const data = JSON.parse(element("points").textContent);
  const canvas = element("map");
  const context = canvas.getContext("2d", { alpha: false });
  const tip = element("tip");
  const GRAY = [176, 176, 176];
  const VIRIDIS = [[68, 1, 84], [59, 82, 139], [33, 145, 140], [94, 201, 98], [253, 231, 37]];

  const bytes = (text) => Uint8Array.from(atob(text), (c) => c.charCodeAt(0)).buffer;
  const axes = data.axes.map((axis) => new Float32Array(bytes(axis.values)));
  const columns = data.columns.map((column) => ({ ...column, hidden: new Set() }));
  const view = { x: 0, y: 0, scale: 1, first: 0, second: Math.min(1, axes.length - 1) };
  let column = null;
  let colors = null; // three bytes for each point
  let hovered = -1;
  let pinned = -1;
  let waiting = false;

  // Points are drawn in a shuffled order: in the order of a sorted file the last class would hide
  // all others. A fixed sequence, so that the plot is reproducible.
  const order = (() => {
    const rows = Uint32Array.from({ length: data.n }, (_, i) => i);
    let state = 12345;
    for (let i = data.n - 1; i > 0; i--) {
      state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
      const j = state % (i + 1);
      [rows[i], rows[j]] = [rows[j], rows[i]];
    }
    return rows;
  })();

  // ---- values and colors -----------------------------------------------------------------

  const read = (of) => {
    if (!of.read && of.kind === "class") of.read = new Uint16Array(bytes(of.values));
    if (!of.read && of.kind === "number") of.read = new Float32Array(bytes(of.values));
    return of.read;
  };
  const shade = (share) => {
    const at = Math.max(0, Math.min(0.9999, share)) * (VIRIDIS.length - 1);
    const low = VIRIDIS[Math.floor(at)];
    const high = VIRIDIS[Math.floor(at) + 1];
    return low.map((c, i) => Math.round(c + (high[i] - c) * (at % 1)));
  };
  // As in lowd.plot: ten colors, and another shape for every ten classes.
  const isOthers = (of, code) => of.others && code === of.names.length - 1;
  const paint = (of, code) => (isOthers(of, code) ? GRAY : data.palette[code % data.palette.length]);
  const shapeOf = (of, code) => (isOthers(of, code) ? 0 : Math.floor(code / data.palette.length));
  const written = (number) => (Number.isFinite(number) ? String(+number.toPrecision(4)) : "–");
  const valueOf = (of, row) => {
    if (of.kind === "text") return of.values[row];
    const value = read(of)[row];
    return of.kind === "class" ? of.names[value] : written(value);
  };

  function colorize() {
    colors = new Uint8Array(3 * data.n);
    const values = column && read(column);
    for (let i = 0; i < data.n; i++) {
      let color = data.palette[0];
      if (column && column.kind === "class") color = paint(column, values[i]);
      if (column && column.kind === "number") {
        const span = column.high - column.low || 1;
        color = Number.isNaN(values[i]) ? GRAY : shade((values[i] - column.low) / span);
      }
      colors.set(color, 3 * i);
    }
  }

  const shown = (row) =>
    !column || column.kind !== "class" || !column.hidden.has(column.read[row]);

  // ---- drawing ---------------------------------------------------------------------------

  const ratio = () => window.devicePixelRatio || 1;
  const radius = () => (data.n <= 2000 ? 3.5 : data.n <= 20000 ? 2.2 : 1.4) * ratio();
  const screenX = (row) => (axes[view.first][row] - view.x) * view.scale + canvas.width / 2;
  const screenY = (row) =>
    axes.length < 2
      ? canvas.height * (0.15 + 0.7 * (((row * 0.618034) % 1)))
      : canvas.height / 2 - (axes[view.second][row] - view.y) * view.scale;

  // How far outside of a shape of radius 1 a position is: disc, square, triangle, cross, diamond, and
  // the triangle on its tip.
  const SHAPES = [
    (x, y) => Math.hypot(x, y) - 1,
    (x, y) => Math.max(Math.abs(x), Math.abs(y)) - 0.9,
    (x, y) => Math.max(y - 0.7, (2 * Math.abs(x) - y - 1.1) / 2.24),
    (x, y) => Math.max(
      Math.min(Math.abs(x - y), Math.abs(x + y)) / 1.41 - 0.4, Math.max(Math.abs(x), Math.abs(y)) - 1,
    ),
    (x, y) => (Math.abs(x) + Math.abs(y) - 1.25) / 1.41,
    (x, y) => Math.max(-y - 0.7, (2 * Math.abs(x) + y - 1.1) / 2.24),
  ];

  // How much of each pixel a shape covers, once for all points: 100,000 arcs take a second, as many
  // stamps some milliseconds.
  function stamp(shape, r) {
    const size = 2 * Math.ceil(1.3 * r + 0.5) + 1;
    const cover = new Float32Array(size * size);
    const middle = (size - 1) / 2;
    for (let y = 0; y < size; y++)
      for (let x = 0; x < size; x++) {
        const outside = r * SHAPES[shape % SHAPES.length]((x - middle) / r, (y - middle) / r);
        cover[y * size + x] = Math.max(0, Math.min(1, 0.5 - outside));
      }
    return { cover, size, middle };
  }

  // The pixels of a stamp that it touches, counted from its corner, and how much it covers them.
  function inkOf({ cover, size, middle }, width) {
    const opacity = data.n > 20000 ? 0.6 : 0.85;
    const touched = [...cover.keys()].filter((i) => cover[i] > 0.02);
    const inked = touched.map((i) => 4 * (Math.floor(i / size) * width + (i % size)));
    const shares = touched.map((i) => cover[i] * opacity);
    return { size, middle, inked: Int32Array.from(inked), shares: Float32Array.from(shares) };
  }

  function draw() {
    waiting = false;
    const { width, height } = canvas;
    const image = context.createImageData(width, height);
    const pixels = image.data.fill(255);
    const classes = column && column.kind === "class" ? column : null;
    const stamps = SHAPES.map((_, shape) => inkOf(stamp(shape, radius()), width));
    let drawn = 0;
    for (const row of order) {
      if (!shown(row)) continue;
      const { size, middle, inked, shares } =
        stamps[classes ? shapeOf(classes, classes.read[row]) % stamps.length : 0];
      const left = Math.round(screenX(row)) - middle;
      const top = Math.round(screenY(row)) - middle;
      if (!(left >= 0 && top >= 0 && left + size <= width && top + size <= height)) continue;
      drawn++;
      const red = colors[3 * row], green = colors[3 * row + 1], blue = colors[3 * row + 2];
      const corner = 4 * (top * width + left);
      for (let i = 0; i < inked.length; i++) {
        const p = corner + inked[i], a = shares[i];
        pixels[p] += (red - pixels[p]) * a;
        pixels[p + 1] += (green - pixels[p + 1]) * a;
        pixels[p + 2] += (blue - pixels[p + 2]) * a;
      }
    }
    context.putImageData(image, 0, 0);
    nameAxes();
    for (const row of new Set([hovered, pinned])) if (row >= 0) ring(row);
    canvas.dataset.drawn = drawn;
  }

  function nameAxes() {
    context.fillStyle = "#666";
    context.font = `${12 * ratio()}px sans-serif`;
    context.textAlign = "center";
    context.fillText(data.axes[view.first].name, canvas.width / 2, canvas.height - 6 * ratio());
    if (axes.length < 2) return;
    context.save();
    context.translate(14 * ratio(), canvas.height / 2);
    context.rotate(-Math.PI / 2);
    context.fillText(data.axes[view.second].name, 0, 0);
    context.restore();
  }

  function ring(row) {
    context.beginPath();
    context.arc(screenX(row), screenY(row), radius() + 3 * ratio(), 0, 2 * Math.PI);
    context.lineWidth = 2 * ratio();
    context.strokeStyle = "#111";
    context.stroke();
  }

  function redraw() {
    if (waiting) return;
    waiting = true;
    requestAnimationFrame(draw);
  }

  // ---- the visible part ---------------------------------------------------------------------

  const extent = (values) => {
    let low = Infinity, high = -Infinity;
    for (const value of values) {
      if (value < low) low = value;
      if (value > high) high = value;
    }
    return [low, high];
  };

  function whole() {
    const [left, right] = extent(axes[view.first]);
    const [low, high] = axes.length < 2 ? [0, 0] : extent(axes[view.second]);
    view.x = (left + right) / 2;
    view.y = (low + high) / 2;
    view.scale = 0.9 * Math.min(
      canvas.width / (right - left || 1),
      axes.length < 2 ? Infinity : canvas.height / (high - low || 1),
    );
    redraw();
  }

  function zoom(factor, x = canvas.width / 2, y = canvas.height / 2) {
    const dx = (x - canvas.width / 2) / view.scale;
    const dy = (canvas.height / 2 - y) / view.scale;
    view.x += dx - dx / factor;
    view.y += dy - dy / factor;
    view.scale *= factor;
    redraw();
  }

  function pan(dx, dy) {
    view.x -= dx / view.scale;
    view.y += dy / view.scale;
    redraw();
  }

  function resize() {
    const width = Math.round(canvas.clientWidth * ratio());
    const height = Math.round(canvas.clientHeight * ratio());
    if (!width || (width === canvas.width && height === canvas.height)) return;
    const first = canvas.dataset.drawn === undefined;
    if (!first) view.scale *= Math.min(width / canvas.width, height / canvas.height);
    canvas.width = width;
    canvas.height = height;
    if (first) whole();
    else draw();
  }

  // ---- what a point is ---------------------------------------------------------------------

  function nearest(x, y) {
    let best = -1, least = (radius() + 6 * ratio()) ** 2;
    for (let row = 0; row < data.n; row++) {
      const dx = screenX(row) - x, dy = screenY(row) - y;
      const far = dx * dx + dy * dy;
      if (far < least && shown(row)) [best, least] = [row, far];
    }
    return best;
  }

  const title = (row) => (data.ids ? data.ids[row] : `row ${row}`);
  const facts = (row) => [
    ...columns.map((of) => [of.name, valueOf(of, row)]),
    ...data.axes.map((axis, i) => [axis.name, written(axes[i][row])]),
  ];

  function hover(row, event) {
    if (row !== hovered) {
      hovered = row;
      redraw();
    }
    tip.hidden = row < 0;
    if (row < 0) return;
    const lines = [title(row)];
    for (const of of columns)
      if (of.main || of === column) lines.push(`${of.name}: ${valueOf(of, row)}`);
    tip.textContent = lines.join("\n");
    if (data.thumbnails) tip.prepend(thumbnail(row));
    const box = canvas.parentElement.getBoundingClientRect();
    const left = event.clientX - box.left + 14, top = event.clientY - box.top + 14;
    tip.style.left = `${Math.max(0, Math.min(left, box.width - tip.offsetWidth - 4))}px`;
    tip.style.top = `${Math.max(0, Math.min(top, box.height - tip.offsetHeight - 4))}px`;
  }

  function thumbnail(row) {
    const { width, height, across, sheet } = data.thumbnails;
    const picture = document.createElement("div");
    const zoomed = Math.max(1, Math.round(64 / height));
    picture.className = "thumbnail";
    picture.style.width = `${width * zoomed}px`;
    picture.style.height = `${height * zoomed}px`;
    picture.style.backgroundImage = `url(${sheet})`;
    picture.style.backgroundSize = `${across * width * zoomed}px auto`;
    picture.style.backgroundPosition =
      `-${(row % across) * width * zoomed}px -${Math.floor(row / across) * height * zoomed}px`;
    return picture;
  }

  function pin(row) {
    pinned = row;
    const box = element("point");
    box.replaceChildren();
    box.hidden = row < 0;
    if (row >= 0) {
      const name = document.createElement("h3");
      name.textContent = title(row);
      const list = document.createElement("dl");
      for (const [key, value] of facts(row)) {
        list.append(Object.assign(document.createElement("dt"), { textContent: key }));
        list.append(Object.assign(document.createElement("dd"), { textContent: value }));
      }
      box.append(name, list);
    }
    redraw();
  }

  // ---- legend and controls -----------------------------------------------------------------

  const rgb = (color) => `rgb(${color.join(",")})`;

  function drawn(color, shape) {
    const { cover, size } = stamp(shape, 6 * ratio());
    const swatch = Object.assign(document.createElement("canvas"), { width: size, height: size });
    swatch.className = "swatch";
    const picture = new ImageData(size, size);
    cover.forEach((share, i) => picture.data.set([...color, 255 * share], 4 * i));
    swatch.getContext("2d").putImageData(picture, 0, 0);
    return swatch;
  }

  function legend() {
    const box = element("legend");
    box.replaceChildren();
    if (!column) return;
    if (column.kind === "number") {
      const bar = Object.assign(document.createElement("div"), { className: "ramp" });
      bar.style.background = `linear-gradient(to right, ${VIRIDIS.map(rgb).join(",")})`;
      const ends = Object.assign(document.createElement("div"), { className: "ends" });
      for (const end of [column.low, column.high])
        ends.append(Object.assign(document.createElement("span"), { textContent: written(end) }));
      box.append(bar, ends);
      return;
    }
    column.names.forEach((name, code) => {
      const button = document.createElement("button");
      button.type = "button";
      button.setAttribute("aria-pressed", String(!column.hidden.has(code)));
      const swatch = drawn(paint(column, code), shapeOf(column, code));
      const label = Object.assign(document.createElement("span"), { textContent: name });
      const count = Object.assign(document.createElement("small"), {
        textContent: column.counts[code],
      });
      button.append(swatch, label, count);
      button.addEventListener("click", () => {
        if (!column.hidden.delete(code)) column.hidden.add(code);
        button.setAttribute("aria-pressed", String(!column.hidden.has(code)));
        redraw();
      });
      box.append(button);
    });
  }

  function choose(number) {
    column = number < 0 ? null : columns[number];
    colorize();
    legend();
    redraw();
  }

  function menus() {
    const menu = element("color");
    columns.forEach((of, number) => {
      if (of.kind !== "text") menu.add(new Option(of.name, number));
    });
    const first = columns.findIndex((of) => of.kind !== "text");
    menu.value = String(first);
    menu.addEventListener("change", () => choose(Number(menu.value)));
    for (const which of ["first", "second"]) {
      const select = element(which);
      data.axes.forEach((axis, number) => select.add(new Option(axis.name, number)));
      select.value = String(view[which]);
      select.closest("label").hidden = axes.length < 3;
      select.addEventListener("change", () => {
        view[which] = Number(select.value);
        whole();
      });
    }
    choose(first);
  }

  // ---- hands -------------------------------------------------------------------------------

  const fingers = new Map();
  let moved = 0;
  const position = (event) => {
    const box = canvas.getBoundingClientRect();
    return [(event.clientX - box.left) * ratio(), (event.clientY - box.top) * ratio()];
  };
  const apart = () => {
    const [a, b] = [...fingers.values()];
    return Math.hypot(a[0] - b[0], a[1] - b[1]);
  };

  canvas.addEventListener("pointerdown", (event) => {
    fingers.set(event.pointerId, position(event));
    canvas.setPointerCapture(event.pointerId);
    moved = 0;
  });
  canvas.addEventListener("pointermove", (event) => {
    const [x, y] = position(event);
    const before = fingers.get(event.pointerId);
    if (!before) return hover(nearest(x, y), event);
    const span = fingers.size === 2 ? apart() : 0;
    fingers.set(event.pointerId, [x, y]);
    moved += Math.abs(x - before[0]) + Math.abs(y - before[1]);
    if (fingers.size === 2) zoom(apart() / (span || 1), x, y);
    else pan(x - before[0], y - before[1]);
    return undefined;
  });
  canvas.addEventListener("pointerup", (event) => {
    fingers.delete(event.pointerId);
    if (moved < 4 * ratio()) pin(nearest(...position(event)));
  });
  canvas.addEventListener("pointercancel", (event) => fingers.delete(event.pointerId));
  canvas.addEventListener("pointerleave", () => hover(-1));
  canvas.addEventListener("wheel", (event) => {
    event.preventDefault();
    zoom(Math.exp(-event.deltaY / 500), ...position(event));
  }, { passive: false });
  canvas.addEventListener("keydown", (event) => {
    const step = 40 * ratio();
    const keys = {
      ArrowLeft: () => pan(step, 0),
      ArrowRight: () => pan(-step, 0),
      ArrowUp: () => pan(0, step),
      ArrowDown: () => pan(0, -step),
      "+": () => zoom(1.3),
      "-": () => zoom(1 / 1.3),
      "0": whole,
      Escape: () => pin(-1),
    };
    if (!keys[event.key]) return;
    event.preventDefault();
    keys[event.key]();
  });
  element("closer").addEventListener("click", () => zoom(1.5));
  element("farther").addEventListener("click", () => zoom(1 / 1.5));
  element("whole").addEventListener("click", whole);

  menus();
  new ResizeObserver(resize).observe(canvas);
  resize();
})();
