// The embedding of the networks, and the animation from one matrix to the next.

const plane = { canvas: $('plane'), points: null, from: null, started: 0, cursor: null, view: null, zoom: 1, centre: [0, 0], lasso: null };
const MOST_ZOOM = 64;
const NAMED = 40; // points that are named when the figure is zoomed
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

function planeLayout(width, t, live = false) {
  const listed = live && columnNow()?.kind === 'category'; // the page lists groups as buttons
  const below = listed ? 0 : legend(null, 0, 0, width - 4, t);
  const tall = live ? Math.max(300, innerHeight - 330) : Infinity; // above the fold, as far as possible
  const side = Math.min(width, tall, Math.max(300, width * 0.86));
  return { width, picture: side, height: side + 34 + below };
}

/** Where the networks are drawn; during an animation, between their places in two matrices. */
function places(box, share) {
  const { width, picture } = box;
  const fit = ({ x, y }) => Math.min((width / 2 - 22) / x, (picture / 2 - 22) / y);
  const target = matrixNow().points;
  const scale = fit(windowOf(state.matrix)) * plane.zoom;
  const found = new Float64Array(2 * K);
  const moving = plane.from && share < 1;
  const before = moving ? fit(windowOf(plane.from.number)) : 0;
  for (let k = 0; k < K; k++) {
    let [x, y] = [target[2 * k] * scale, target[2 * k + 1] * scale];
    if (moving) {
      x = (1 - share) * plane.from.points[2 * k] * before + share * x;
      y = (1 - share) * plane.from.points[2 * k + 1] * before + share * y;
    }
    found[2 * k] = width / 2 + x - plane.centre[0];
    found[2 * k + 1] = picture / 2 - y - plane.centre[1];
  }
  return { found, scale };
}

function drawPlane(pen, width, t, live, share = 1) {
  const box = planeLayout(width, t, live);
  pen.rect(0.5, 0.5, width - 1, box.picture - 1, { stroke: t.line });
  if (!matrixNow().points) {
    pen.text(width / 2, box.picture / 2, 'No embedding: pairs are missing.', { size: 14, fill: t.soft, anchor: 'middle', font: t.font });
    plane.view = null;
    return;
  }
  const { found, scale } = places(box, share);
  const radius = K > 1000 ? 2.5 : K > 250 ? 4 : K > 60 ? 5 : 6.5;
  const pair = (live && shownPair().pair) || [];
  const marked = live ? new Set([...pair, ...state.selected, ...state.hover]) : new Set(state.selected);
  const dim = (state.hover.length || state.found) && live ? 0.55 : 0.95;
  const inside = (k) => found[2 * k] > 0 && found[2 * k] < width && found[2 * k + 1] > 0 && found[2 * k + 1] < box.picture;
  const visible = Array.from({ length: K }, (_, k) => k).filter((k) => inside(k) && !isHidden(k));
  for (const k of visible) {
    if (marked.has(k)) continue;
    const { colour, shape } = look(k, t);
    const hit = live && state.found?.has(k);
    marker(pen, found[2 * k], found[2 * k + 1], shape, hit ? radius + 1.5 : radius, { fill: colour, opacity: hit ? 1 : dim, stroke: hit ? t.ink : t.back, width: hit ? 2 : 0.6 });
  }
  const taken = [];
  const far = marked.size > 12 ? new Set([...state.hover]) : marked; // many names would cover the points
  for (const k of marked) if (inside(k) && !isHidden(k)) drawMarked(pen, found, k, radius, width, t, taken, far.has(k));
  if (plane.zoom > 1 && visible.length <= NAMED) for (const k of visible) if (!marked.has(k)) namePoint(pen, found, k, radius, width, t, taken);
  if (live && plane.lasso?.length > 1) pen.path(plane.lasso, { fill: t.accent, opacity: 0.12, stroke: t.accent, width: 1.5, dash: [4, 3] }, true);
  if (live && plane.cursor !== null && document.activeElement === plane.canvas) {
    pen.ellipse(found[2 * plane.cursor], found[2 * plane.cursor + 1], radius + 6, radius + 6, 0, { stroke: t.ink, width: 2, dash: [3, 2] });
  }
  scaleBar(pen, box, scale, t);
  if (!live || columnNow()?.kind !== 'category') legend(pen, 2, box.picture + 34, width - 4, t);
  plane.view = { found, box, visible };
}

function drawMarked(pen, found, k, radius, width, t, taken, named) {
  const { colour, shape } = look(k, t);
  const [x, y] = [found[2 * k], found[2 * k + 1]];
  const chosen = state.selected.includes(k);
  marker(pen, x, y, shape, radius + 2, { fill: colour, stroke: chosen ? t.accent : t.ink, width: 2.2 });
  if (named) label(pen, x, y, k, radius, width, t, taken, { size: 12, weight: 600, fill: chosen ? t.accent : t.ink, must: true });
}

/** Name a point if there is room beside it. */
function namePoint(pen, found, k, radius, width, t, taken) {
  label(pen, found[2 * k], found[2 * k + 1], k, radius, width, t, taken, { size: 11, weight: 400, fill: t.soft, must: false });
}

function label(pen, x, y, k, radius, width, t, taken, { size, weight, fill, must }) {
  const text = brief(k, 26);
  const wide = textWidth(text, size, t.font, weight);
  const right = x + wide + radius + 16 > width;
  const shift = right ? -radius - 7 : radius + 7;
  const left = x + (right ? shift - wide - 3 : shift - 3);
  const clear = (dy) => taken.every(([u, v, w]) => Math.abs(v - y - dy) >= 15 || left > u + w || left + wide + 6 < u);
  const dy = (must ? [0, -15, 15, -30, 30] : [0]).find(clear) ?? (must ? 0 : null); // so that labels do not overlap
  if (dy === null) return;
  taken.push([left, y + dy, wide + 6]);
  pen.rect(left, y + dy - 8, wide + 6, 15, { fill: t.back, opacity: 0.82 });
  pen.text(x + shift, y + dy, text, { size, weight, fill, anchor: right ? 'end' : 'start', font: t.font });
}

/** A scale bar of a round length, to read distances off the figure. */
function scaleBar(pen, box, scale, t) {
  const rough = 90 / scale;
  const power = 10 ** Math.floor(Math.log10(rough));
  const length = [1, 2, 5, 10].map((f) => f * power).filter((v) => v <= rough * 1.01).pop() ?? power;
  const y = box.picture + 14;
  pen.path([[2, y], [2 + length * scale, y]], { stroke: t.ink, width: 2 });
  pen.text(8 + length * scale, y, `distance ${+length.toPrecision(2)}`, { size: 11, fill: t.soft, font: t.font });
  const { coincide } = windowOf(state.matrix);
  const stress = coincide ? 'all networks coincide' : matrixNow().collapse ? `${matrixNow().collapse.split(':')[0].toLowerCase().replace(/\.$/, '')}; stress ${beside(matrixNow().stress, 1, 2)}` : `stress ${beside(matrixNow().stress, 1, 2)}`;
  pen.text(box.width - 2, y, stress, { size: 11, fill: t.soft, anchor: 'end', font: t.font });
}

function showPlane() {
  const card = plane.canvas.parentElement;
  const width = card.clientWidth - 2 * pad(card);
  if (width <= 0) return;
  const t = theme();
  const { height } = planeLayout(width, t, true);
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
  for (const k of plane.view.visible) {
    const far = (found[2 * k] - event.offsetX) ** 2 + (found[2 * k + 1] - event.offsetY) ** 2;
    if (far < best) [best, at] = [far, k];
  }
  return at;
}

/** Zoom by a factor about a place in the figure, its middle by default. */
function zoomBy(factor, x = null, y = null) {
  if (!plane.view) return;
  const { width, picture } = plane.view.box;
  const zoom = Math.min(MOST_ZOOM, Math.max(1, plane.zoom * factor));
  const [u, v] = [(x ?? width / 2) - width / 2, (y ?? picture / 2) - picture / 2];
  const real = zoom / plane.zoom;
  plane.centre = zoom === 1 ? [0, 0] : [real * (plane.centre[0] + u) - u, real * (plane.centre[1] + v) - v];
  plane.zoom = zoom;
  say(zoom === 1 ? 'All networks are shown.' : `Zoom ${digits(zoom, 2)}.`);
  schedule('plane');
}
const zoomAll = () => zoomBy(1 / MOST_ZOOM);

/** Whether a place is inside a polygon. */
function isInside(polygon, x, y) {
  let inside = false;
  for (let a = 0, b = polygon.length - 1; a < polygon.length; b = a++) {
    const [[x1, y1], [x2, y2]] = [polygon[a], polygon[b]];
    if (y1 > y !== y2 > y && x < ((x2 - x1) * (y - y1)) / (y2 - y1) + x1) inside = !inside;
  }
  return inside;
}

/** Draw around points with a mouse or a pen to select them; with Shift, move the zoomed figure. */
function listenLasso() {
  let [start, moved] = [null, false];
  const at = (event) => [event.offsetX, event.offsetY];
  plane.canvas.addEventListener('pointerdown', (event) => {
    if (event.button !== 0 || event.pointerType === 'touch') return;
    start = { place: at(event), centre: plane.centre, pan: event.shiftKey };
    moved = false;
  });
  plane.canvas.addEventListener('pointermove', (event) => {
    if (!start) return;
    const [x, y] = at(event);
    moved ||= Math.hypot(x - start.place[0], y - start.place[1]) > 6;
    if (!moved) return;
    if (start.pan) plane.centre = [start.centre[0] - x + start.place[0], start.centre[1] - y + start.place[1]];
    else plane.lasso = [...(plane.lasso ?? [start.place]), [x, y]];
    schedule('plane');
  });
  addEventListener('pointerup', () => {
    const polygon = plane.lasso;
    [start, plane.lasso] = [null, null];
    if (!polygon) return;
    const { found, visible } = plane.view;
    change({ selected: visible.filter((k) => isInside(polygon, found[2 * k], found[2 * k + 1])) });
    say(`${plural(state.selected.length, 'network')} selected.`);
  });
  return () => moved;
}

function listenPlane() {
  const wasDragged = listenLasso();
  plane.canvas.addEventListener('pointermove', (event) => {
    if (plane.lasso) return;
    const k = nearestPoint(event);
    hover(k === null ? [] : [k], event, k === null ? [] : planeTip(k));
  });
  plane.canvas.addEventListener('pointerleave', () => hover([], null, []));
  plane.canvas.addEventListener('click', (event) => {
    const k = nearestPoint(event);
    if (k === null || wasDragged()) return;
    plane.cursor = k;
    toggle(k);
  });
  plane.canvas.addEventListener('dblclick', zoomAll);
  // Without the focus or the control key, the wheel scrolls the page as usual.
  plane.canvas.addEventListener('wheel', (event) => {
    if (!event.ctrlKey && document.activeElement !== plane.canvas) return;
    event.preventDefault();
    zoomBy(Math.exp(-event.deltaY / 300), event.offsetX, event.offsetY);
  }, { passive: false });
  $('zoom-in').addEventListener('click', () => zoomBy(2));
  $('zoom-out').addEventListener('click', () => zoomBy(0.5));
  $('zoom-all').addEventListener('click', zoomAll);
  plane.canvas.addEventListener('focus', () => {
    plane.cursor ??= 0;
    schedule('plane');
  });
  plane.canvas.addEventListener('blur', () => hover([], null, []));
  plane.canvas.addEventListener('keydown', planeKey);
}

/** The groups as buttons, which hide and show them. */
function showLegend() {
  const place = $('legend');
  const column = columnNow();
  place.hidden = column?.kind !== 'category';
  if (place.hidden) return;
  const most = 16;
  const shown = column.levels.slice(0, most).map((level, code) => [code, level]);
  if (column.codes.includes(-1)) shown.push([-1, 'unknown']);
  const held = place.contains(document.activeElement) ? document.activeElement.dataset.code : null;
  const buttons = shown.map(([code, level]) => {
    const button = element('button', null, { type: 'button', 'aria-pressed': String(!state.hidden.includes(code)), 'data-code': code });
    button.append(sign(levelLook(code)), element('span', tidy(level, 22), { dir: 'auto' }));
    button.addEventListener('click', () => {
      const rest = state.hidden.filter((other) => other !== code);
      change({ hidden: rest.length < state.hidden.length ? rest : [...rest, code] });
    });
    return button;
  });
  const more = column.levels.length > most ? [element('span', `and ${column.levels.length - most} more`, { class: 'hint' })] : [];
  place.replaceChildren(element('strong', tidy(column.name, 34), { dir: 'auto' }), ...buttons, ...more);
  if (held !== null) place.querySelector(`[data-code="${held}"]`)?.focus({ preventScroll: true });
}

/** A marker as an SVG element. */
function sign({ colour, shape }) {
  const NS = 'http://www.w3.org/2000/svg';
  const made = document.createElementNS(NS, 'svg');
  made.setAttribute('viewBox', '-8 -8 16 16');
  made.setAttribute('aria-hidden', 'true');
  const mark = document.createElementNS(NS, shape === 'circle' ? 'circle' : 'polygon');
  if (shape === 'circle') mark.setAttribute('r', 6);
  else mark.setAttribute('points', corners(shape, 6).map((point) => point.join(',')).join(' '));
  mark.setAttribute('fill', colour);
  made.append(mark);
  return made;
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
  else if (event.key === '+' || event.key === '=') zoomBy(1.5);
  else if (event.key === '-') zoomBy(1 / 1.5);
  else if (event.key === '0') zoomAll();
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
    if (k !== plane.cursor && !isHidden(k) && along > 0.5 && cost < best) [best, at] = [cost, k];
  }
  if (at === null) say('There is no network further in this direction.');
  else goTo(at);
}
function goTo(k) {
  plane.cursor = k;
  hover([k], null, []);
  say(describeNetwork(k));
}
