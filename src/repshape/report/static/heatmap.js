// The map of distances: one pixel per pair, in the order that the reader chooses.

const heat = { canvas: $('heat'), order: [], position: new Int32Array(K), image: null, cursor: null, box: null };

/** Upper limit of the colour map; if all networks coincide, that of the other matrices. */
const heatTop = (matrix) => Math.max(matrix.coincide ? Math.max(...DATA.matrices.map((one) => one.top)) : matrix.top, 0) || 1;
/** Whether some distances are above the limit, and share the last colour. */
const heatCut = (matrix) => !matrix.coincide && matrix.high > matrix.top;

/** Paint the distances once for a matrix and an order; hovering only draws lines on top. */
function paintHeat() {
  const matrix = matrixNow();
  heat.order = networkOrder();
  heat.order.forEach((k, at) => (heat.position[k] = at));
  // Estimated distances may be negative; they get the colour of zero.
  const top = heatTop(matrix);
  const { distances, levels } = matrix;
  const full = DATA.full;
  const step = (matrix.top - matrix.low) / 254;
  heat.image = mapImage(K, K, (a, b) => {
    if (a === b) return 0;
    const [i, j] = [heat.order[a], heat.order[b]];
    const at = i < j ? place(i, j) : place(j, i);
    const far = full ? distances[at] : levels[at] === 255 ? NaN : matrix.low + levels[at] * step;
    return far / top;
  });
}

/** The metadata of the networks in the order of the map, one pixel each, as a row or a column. */
function strip(t, across) {
  const made = document.createElement('canvas');
  made.width = across ? K : 1;
  made.height = across ? 1 : K;
  const context = made.getContext('2d');
  heat.order.forEach((k, at) => {
    context.fillStyle = look(k, t).colour;
    context.fillRect(across ? at : 0, across ? 0 : at, 1, 1);
  });
  return made;
}

function heatLayout(width, t) {
  const names = K <= 32;
  const room = width > 420 ? 20 : 13; // number of characters for a name beside the map
  const longest = names ? Math.max(...LABELS.map((_, k) => textWidth(brief(k, room), 11, t.font, 700))) + 8 : 0;
  const left = longest + (columnNow() ? 14 : 0);
  const top = columnNow() ? 14 : 2;
  const side = width - left - 2;
  return { names, room, left, top, side, cell: side / K, height: top + side + 42 };
}

function drawHeat(pen, width, t, live) {
  const box = heatLayout(width, t);
  const { left, top, side, cell } = box;
  const matrix = matrixNow();
  if (matrix.missing) drawMissing(pen, left, top, side, side, t);
  pen.image(heat.image, left, top, side, side, cell < 1);
  if (columnNow()) {
    pen.image(strip(t, true), left, top - 12, side, 9);
    pen.image(strip(t, false), left - 12, top, 9, side);
  }
  if (box.names) {
    heat.order.forEach((k, at) => {
      const strong = live && (state.selected.includes(k) || state.hover.includes(k));
      pen.text(left - (columnNow() ? 16 : 4), top + (at + 0.5) * cell, brief(k, box.room), { size: 11, fill: strong ? t.accent : t.soft, weight: strong ? 700 : 400, anchor: 'end', font: t.font });
    });
  }
  pen.rect(left, top, side, side, { stroke: t.line });
  if (live) drawMarks(pen, box, t);
  const bar = Math.min(220, side * 0.6);
  colourBar(pen, left, top + side + 14, bar, HEAT, matrix.low < 0 ? '\u2264 0' : '0', (heatCut(matrix) ? '\u2265 ' : '') + digits(heatTop(matrix)), t);
  pen.text(left + bar + 12, top + side + 19, heatCut(matrix) ? `distance, up to ${digits(matrix.high)}` : 'distance', { size: 11, fill: t.soft, font: t.font });
  return box;
}

/** Cover the networks whose group is hidden, and mark those that were searched for. */
function drawFilters(pen, { left, top, side, cell }, t) {
  heat.order.forEach((k, at) => {
    if (isHidden(k)) {
      pen.rect(left, top + at * cell, side, cell + 0.4, { fill: t.back, opacity: 0.85 });
      pen.rect(left + at * cell, top, cell + 0.4, side, { fill: t.back, opacity: 0.85 });
    } else if (state.found?.has(k)) {
      const middle = (at + 0.5) * cell;
      pen.path([[left - 7, top + middle - 4], [left - 7, top + middle + 4], [left, top + middle]], { fill: t.accent }, true);
      pen.path([[left + middle - 4, top - 7], [left + middle + 4, top - 7], [left + middle, top]], { fill: t.accent }, true);
    }
  });
}

function drawMarks(pen, { left, top, side, cell }, t) {
  if (state.hidden.length || state.found) drawFilters(pen, { left, top, side, cell }, t);
  const thick = Math.max(cell, 2);
  for (const k of state.selected.slice(-12)) {
    const at = heat.position[k] * cell - (thick - cell) / 2;
    pen.rect(left, top + at, side, thick, { stroke: t.accent, width: 1.5 });
    pen.rect(left + at, top, thick, side, { stroke: t.accent, width: 1.5 });
  }
  for (const k of state.hover) {
    const at = (heat.position[k] + 0.5) * cell;
    for (const [stroke, width] of [['#ffffff', 2.5], ['#000000', 1]]) {
      pen.path([[left, top + at], [left + side, top + at]], { stroke, width });
      pen.path([[left + at, top], [left + at, top + side]], { stroke, width });
    }
  }
  const { pair } = shownPair();
  const cells = pair ? [pair, [pair[1], pair[0]]] : [];
  const size = Math.max(cell, 7);
  const frame = (a, b, stroke, width) => pen.rect(left + (b + 0.5) * cell - size / 2, top + (a + 0.5) * cell - size / 2, size, size, { stroke, width });
  for (const [i, j] of cells) {
    frame(heat.position[i], heat.position[j], '#ffffff', 4);
    frame(heat.position[i], heat.position[j], t.accent, 2);
  }
  if (heat.cursor && document.activeElement === heat.canvas) {
    frame(...heat.cursor, '#ffffff', 4);
    frame(...heat.cursor, '#000000', 2);
  }
}

function showHeat() {
  const width = heat.canvas.parentElement.clientWidth - 2 * pad(heat.canvas.parentElement);
  if (width <= 0) return;
  const t = theme();
  const scale = devicePixelRatio || 1;
  const { height } = heatLayout(width, t);
  heat.canvas.style.height = `${height}px`;
  heat.box = drawHeat(new CanvasPen(heat.canvas, width, height, scale), width, t, true);
  heat.canvas.setAttribute('aria-label', `Distances between ${plural(K, 'network')}, ${tidy(matrixNow().name)}, from ${digits(matrixNow().low)} to ${digits(matrixNow().high)}`);
}

/** Row and column of the map under the pointer, or null. */
function heatCell(event) {
  const { left, top, cell } = heat.box;
  const b = Math.floor((event.offsetX - left) / cell);
  const a = Math.floor((event.offsetY - top) / cell);
  return a >= 0 && b >= 0 && a < K && b < K ? [a, b] : null;
}

function listenHeat() {
  heat.canvas.addEventListener('pointermove', (event) => {
    const at = heatCell(event);
    const pair = at ? [heat.order[at[0]], heat.order[at[1]]] : [];
    hover(pair, event, pair.length ? heatTip(...pair) : []);
  });
  heat.canvas.addEventListener('pointerleave', () => hover([], null, []));
  heat.canvas.addEventListener('click', (event) => {
    const at = heatCell(event);
    if (!at) return;
    heat.cursor = at;
    choosePair(heat.order[at[0]], heat.order[at[1]]);
  });
  heat.canvas.addEventListener('focus', () => {
    heat.cursor ??= [0, Math.min(1, K - 1)];
    schedule('heat');
  });
  heat.canvas.addEventListener('blur', () => hover([], null, []));
  heat.canvas.addEventListener('keydown', heatKey);
}

function heatTip(i, j) {
  if (i === j) return [describeNetwork(i)];
  const words = pairWords(i, j).split(': ');
  return [describeNetwork(i), describeNetwork(j), words[words.length - 1]];
}

function heatKey(event) {
  if (event.key === 'Escape') return clearSelection();
  const [a, b] = heat.cursor ?? [0, 0];
  if (event.key === 'Enter' || event.key === ' ') choosePair(heat.order[a], heat.order[b]);
  else if (event.key === 'Home') moveCursor(a, 0);
  else if (event.key === 'End') moveCursor(a, K - 1);
  else if (STEPS[event.key]) moveCursor(a + STEPS[event.key][0], b + STEPS[event.key][1]);
  else return undefined;
  return event.preventDefault();
}
function moveCursor(a, b) {
  const within = (v) => Math.min(K - 1, Math.max(0, v));
  heat.cursor = [within(a), within(b)];
  const [i, j] = heat.cursor.map((at) => heat.order[at]);
  hover([i, j], null, []);
  say(i === j ? describeNetwork(i) : pairWords(i, j));
}
