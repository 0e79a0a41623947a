// The embedding of the networks, and the animation from one matrix to the next.

const plane = { canvas: $('plane'), points: null, from: null, started: 0, cursor: null, view: null };
const WALK = 700; // duration of the animation from one matrix to the next, in milliseconds
const SMALL = 1e-4; // an embedding smaller than this fraction of the largest is drawn at the scale of the largest

/** Largest distance of the points from the origin along each axis. */
function reach(points) {
  let [x, y] = [0, 0];
  for (let k = 0; k < points.length; k += 2) {
    x = Math.max(x, Math.abs(points[k]));
    y = Math.max(y, Math.abs(points[k + 1]));
  }
  return [x, y];
}
const reaches = DATA.matrices.map((matrix) => (matrix.points ? reach(matrix.points) : [0, 0]));
const widest = Math.max(...reaches.flat(), 0);

/** The axis limits of a matrix: its own, unless its networks almost coincide. */
function windowOf(number) {
  const [x, y] = reaches[number];
  const coincide = Math.max(x, y) <= SMALL * widest;
  return { x: coincide ? widest || 1 : x, y: coincide ? widest || 1 : y, coincide };
}

function planeLayout(width, t) {
  const below = legend(null, 0, 0, width - 4, t);
  const side = Math.min(width, Math.max(300, width * 0.86));
  return { width, picture: side, height: side + 34 + below };
}

/** Where the networks are drawn; during an animation, between their places in two matrices. */
function places(box, share) {
  const { width, picture } = box;
  const fit = ({ x, y }) => Math.min((width / 2 - 22) / x, (picture / 2 - 22) / y);
  const target = matrixNow().points;
  const scale = fit(windowOf(state.matrix));
  const found = new Float64Array(2 * K);
  const moving = plane.from && share < 1;
  const before = moving ? fit(windowOf(plane.from.number)) : 0;
  for (let k = 0; k < K; k++) {
    let [x, y] = [target[2 * k] * scale, target[2 * k + 1] * scale];
    if (moving) {
      x = (1 - share) * plane.from.points[2 * k] * before + share * x;
      y = (1 - share) * plane.from.points[2 * k + 1] * before + share * y;
    }
    found[2 * k] = width / 2 + x;
    found[2 * k + 1] = picture / 2 - y;
  }
  return { found, scale };
}

function drawPlane(pen, width, t, live, share = 1) {
  const box = planeLayout(width, t);
  pen.rect(0.5, 0.5, width - 1, box.picture - 1, { stroke: t.line });
  if (!matrixNow().points) {
    pen.text(width / 2, box.picture / 2, 'No embedding: pairs are missing.', { size: 14, fill: t.soft, anchor: 'middle', font: t.font });
    plane.view = null;
    return;
  }
  const { found, scale } = places(box, share);
  const radius = K > 1000 ? 2.5 : K > 250 ? 4 : K > 60 ? 5 : 6.5;
  const marked = live ? new Set([...state.selected, ...state.hover]) : new Set(state.selected);
  const dim = state.hover.length && live ? 0.6 : 0.95;
  for (let k = 0; k < K; k++) {
    if (marked.has(k)) continue;
    const { colour, shape } = look(k, t);
    marker(pen, found[2 * k], found[2 * k + 1], shape, radius, { fill: colour, opacity: dim, stroke: t.back, width: 0.6 });
  }
  const taken = [];
  for (const k of marked) drawMarked(pen, found, k, radius, width, t, taken);
  if (live && plane.cursor !== null && document.activeElement === plane.canvas) {
    pen.ellipse(found[2 * plane.cursor], found[2 * plane.cursor + 1], radius + 6, radius + 6, 0, { stroke: t.ink, width: 2, dash: [3, 2] });
  }
  scaleBar(pen, box, scale, t);
  legend(pen, 2, box.picture + 34, width - 4, t);
  plane.view = { found, box };
}

function drawMarked(pen, found, k, radius, width, t, taken) {
  const { colour, shape } = look(k, t);
  const [x, y] = [found[2 * k], found[2 * k + 1]];
  const chosen = state.selected.includes(k);
  marker(pen, x, y, shape, radius + 2, { fill: colour, stroke: chosen ? t.accent : t.ink, width: 2.2 });
  const text = brief(k, 26);
  const wide = textWidth(text, 12, t.font, 600);
  const right = x + wide + radius + 16 > width;
  const shift = right ? -radius - 7 : radius + 7;
  const left = x + (right ? shift - wide - 3 : shift - 3);
  const clear = (dy) => taken.every(([u, v, w]) => Math.abs(v - y - dy) >= 15 || left > u + w || left + wide + 6 < u);
  const dy = [0, -15, 15, -30, 30].find(clear) ?? 0; // so that the labels of nearby points do not overlap
  taken.push([left, y + dy, wide + 6]);
  pen.rect(left, y + dy - 8, wide + 6, 15, { fill: t.back, opacity: 0.82 });
  pen.text(x + shift, y + dy, text, { size: 12, weight: 600, fill: chosen ? t.accent : t.ink, anchor: right ? 'end' : 'start', font: t.font });
}

/** A scale bar of a round length, to read distances off the figure. */
function scaleBar(pen, box, scale, t) {
  const rough = 90 / scale;
  const power = 10 ** Math.floor(Math.log10(rough));
  const length = [1, 2, 5, 10].map((f) => f * power).filter((v) => v <= rough * 1.01).pop() ?? power;
  const y = box.picture + 14;
  pen.path([[2, y], [2 + length * scale, y]], { stroke: t.ink, width: 2 });
  pen.text(8 + length * scale, y, `distance ${+length.toPrecision(2)}`, { size: 11, fill: t.soft, font: t.font });
  const stress = windowOf(state.matrix).coincide ? 'all networks coincide' : `stress ${beside(matrixNow().stress, 1, 2)}`;
  pen.text(box.width - 2, y, stress, { size: 11, fill: t.soft, anchor: 'end', font: t.font });
}

function showPlane() {
  const card = plane.canvas.parentElement;
  const width = card.clientWidth - 2 * pad(card);
  if (width <= 0) return;
  const t = theme();
  const { height } = planeLayout(width, t);
  plane.canvas.style.height = `${height}px`;
  const past = plane.from ? (performance.now() - plane.started) / WALK : 1;
  const eased = past >= 1 ? 1 : past * past * (3 - 2 * past);
  drawPlane(new CanvasPen(plane.canvas, width, height, devicePixelRatio || 1), width, t, true, eased);
  plane.canvas.setAttribute('aria-label', `Embedding of ${plural(K, 'network')}, ${tidy(matrixNow().name)}`);
  if (past < 1) schedule('plane');
  else plane.from = null;
}

/** Start the animation from the matrix that was shown before. */
function walkFrom(number) {
  const points = DATA.matrices[number].points;
  if (!points || !matrixNow().points || calm()) return;
  plane.from = { points, number };
  plane.started = performance.now();
}

function nearestPoint(event) {
  if (!plane.view) return null;
  const { found } = plane.view;
  let [best, at] = [22 ** 2, null];
  for (let k = 0; k < K; k++) {
    const far = (found[2 * k] - event.offsetX) ** 2 + (found[2 * k + 1] - event.offsetY) ** 2;
    if (far < best) [best, at] = [far, k];
  }
  return at;
}

function listenPlane() {
  plane.canvas.addEventListener('pointermove', (event) => {
    const k = nearestPoint(event);
    hover(k === null ? [] : [k], event, k === null ? [] : planeTip(k));
  });
  plane.canvas.addEventListener('pointerleave', () => hover([], null, []));
  plane.canvas.addEventListener('click', (event) => {
    const k = nearestPoint(event);
    if (k === null) return;
    plane.cursor = k;
    toggle(k);
  });
  plane.canvas.addEventListener('focus', () => {
    plane.cursor ??= 0;
    schedule('plane');
  });
  plane.canvas.addEventListener('blur', () => hover([], null, []));
  plane.canvas.addEventListener('keydown', planeKey);
}

function planeTip(k) {
  const lines = [name(k)];
  for (const column of DATA.columns.slice(0, 6)) lines.push(`${tidy(column.name, 30)}: ${cell(column, k, 40)}`);
  return lines;
}

const WAYS = { ArrowUp: [0, -1], ArrowDown: [0, 1], ArrowLeft: [-1, 0], ArrowRight: [1, 0] };
function planeKey(event) {
  if (event.key === 'Escape') return clearSelection();
  if (plane.cursor === null || !plane.view) return undefined;
  if (event.key === 'Enter' || event.key === ' ') toggle(plane.cursor);
  else if (WAYS[event.key]) goTowards(WAYS[event.key]);
  else if (event.key === 'Home' || event.key === 'End') goTo(event.key === 'Home' ? 0 : K - 1);
  else return undefined;
  return event.preventDefault();
}

/** Go to the nearest point in a direction; points to the side count as farther away. */
function goTowards([dx, dy]) {
  const { found } = plane.view;
  const [x, y] = [found[2 * plane.cursor], found[2 * plane.cursor + 1]];
  let [best, at] = [Infinity, null];
  for (let k = 0; k < K; k++) {
    const [u, v] = [found[2 * k] - x, found[2 * k + 1] - y];
    const along = u * dx + v * dy;
    const aside = Math.abs(u * dy) + Math.abs(v * dx);
    const cost = along + 2 * aside;
    if (k !== plane.cursor && along > 0.5 && cost < best) [best, at] = [cost, k];
  }
  if (at === null) say('There is no network further in this direction.');
  else goTo(at);
}
function goTo(k) {
  plane.cursor = k;
  hover([k], null, []);
  say(describeNetwork(k));
}
