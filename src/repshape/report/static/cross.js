// A page about two sets of networks: the map of their distances, and models with intervals and ceilings.

const ROW_NAMES = DATA.rows;
const COLUMN_NAMES = DATA.columns;
const [R, C] = [ROW_NAMES.length, COLUMN_NAMES.length];
const VALUES = unpack(DATA.values);
const BOUNDS = DATA.bounds && unpack(DATA.bounds);
const map = { canvas: $('cross'), image: null, cursor: null, kept: null, box: null };
const MOST_NAMES = 60;
const title = () => DATA.name;

/** Place of a distance in the colours, from the smallest to the largest. */
const shareOf = (far) => (DATA.high > DATA.low ? (far - DATA.low) / (DATA.high - DATA.low) : 0.5);

function crossLayout(width, t) {
  const room = width > 420 ? 22 : 12; // number of characters for a name beside the map
  const [rows, columns] = [R <= MOST_NAMES, C <= MOST_NAMES];
  const longest = (names) => Math.max(...names.map((one) => textWidth(middle(tidy(one, 200), room), 11, t.font))) + 8;
  const left = rows ? longest(ROW_NAMES) : 2;
  const [w, turned] = [(width - left - 2) / C, columns && longest(COLUMN_NAMES) > (width - left - 2) / C];
  const h = R <= MOST_NAMES ? Math.min(Math.max(Math.min(w, 30), 14), 40) : Math.max(600 / R, 1);
  const below = columns ? (turned ? longest(COLUMN_NAMES) : 18) : 4;
  return { room, rows, columns, left, top: 2, w, h, turned, below, height: 2 + R * h + below + 46 };
}

function drawCross(pen, width, t, live) {
  const box = crossLayout(width, t);
  const { left, top, w, h, room } = box;
  const style = { size: 11, fill: t.soft, font: t.font };
  if (DATA.missing) drawMissing(pen, left, top, C * w, R * h, t);
  pen.image(map.image, left, top, C * w, R * h, w < 1 || h < 1);
  if (box.rows) ROW_NAMES.forEach((one, i) => pen.text(left - 5, top + (i + 0.5) * h, middle(tidy(one, 200), room), { ...style, anchor: 'end' }));
  if (box.columns) COLUMN_NAMES.forEach((one, j) => pen.text(left + (j + 0.5) * w, top + R * h + (box.turned ? 6 : 11), middle(tidy(one, 200), room), { ...style, anchor: box.turned ? 'end' : 'middle', turn: box.turned ? -Math.PI / 2 : 0 }));
  if (w >= 36 && h >= 14 && R * C <= 900) drawNumbers(pen, box, t);
  const frame = ([i, j], stroke, thick) => pen.rect(left + j * w + 1, top + i * h + 1, Math.max(w - 2, 3), Math.max(h - 2, 3), { stroke, width: thick });
  DATA.nearest.forEach((j, i) => {
    if (j < 0) return;
    frame([i, j], '#000000', 3);
    frame([i, j], '#ffffff', 1.5);
  });
  if (live && map.kept) frame(map.kept, t.accent, 3);
  if (live && map.cursor && document.activeElement === map.canvas) {
    frame(map.cursor, '#ffffff', 4);
    frame(map.cursor, '#000000', 2);
  }
  const bar = Math.min(220, C * w * 0.6);
  colourBar(pen, left, top + R * h + box.below + 14, bar, HEAT, digits(DATA.low, 3), digits(DATA.high, 3), t);
  pen.text(left + bar + 12, top + R * h + box.below + 19, 'distance', style);
  return box;
}

/** Distances inside the squares, dark on light colours and light on dark ones. */
function drawNumbers(pen, { left, top, w, h }, t) {
  for (let i = 0; i < R; i++) {
    for (let j = 0; j < C; j++) {
      const far = VALUES[i * C + j];
      if (Number.isNaN(far)) continue;
      pen.text(left + (j + 0.5) * w, top + (i + 0.5) * h, digits(far, 3), { size: 11, anchor: 'middle', font: t.font, fill: shareOf(far) > 0.55 ? '#000000' : '#ffffff' });
    }
  }
}

function crossWords(i, j) {
  const far = VALUES[i * C + j];
  const names = `${tidy(ROW_NAMES[i], 40)} and ${tidy(COLUMN_NAMES[j], 40)}`;
  if (Number.isNaN(far)) return `${names}: not computed yet`;
  const bound = BOUNDS ? `, proven lower bound ${digits(BOUNDS[i * C + j], 4)}` : '';
  return `${names}: distance ${digits(far)}${bound}${DATA.nearest[i] === j ? ', the nearest of the row' : ''}`;
}

function showCross() {
  const width = map.canvas.parentElement.clientWidth - 2 * pad(map.canvas.parentElement);
  if (width <= 0) return;
  const t = theme();
  const { height } = crossLayout(width, t);
  map.canvas.style.height = `${height}px`;
  map.box = drawCross(new CanvasPen(map.canvas, width, height, devicePixelRatio || 1), width, t, true);
  map.canvas.setAttribute('aria-label', `Distances from ${plural(R, 'row')} to ${plural(C, 'column')}, from ${digits(DATA.low)} to ${digits(DATA.high)}`);
}

function crossCell(event) {
  const { left, top, w, h } = map.box;
  const [i, j] = [Math.floor((event.offsetY - top) / h), Math.floor((event.offsetX - left) / w)];
  return i >= 0 && j >= 0 && i < R && j < C ? [i, j] : null;
}
function keep(pair) {
  map.kept = pair;
  $('cross-words').textContent = pair ? crossWords(...pair) : '';
  say(pair ? `Kept: ${crossWords(...pair)}` : 'No pair is kept.');
  showCross();
}
function crossKey(event) {
  const [i, j] = map.cursor ?? [0, 0];
  const step = event.key === 'Home' ? [0, -j] : event.key === 'End' ? [0, C - 1 - j] : STEPS[event.key];
  if (event.key === 'Escape') keep(null);
  else if (event.key === 'Enter' || event.key === ' ') keep([i, j]);
  else if (step) {
    map.cursor = [Math.min(R - 1, Math.max(0, i + step[0])), Math.min(C - 1, Math.max(0, j + step[1]))];
    say(crossWords(...map.cursor));
    showCross();
  } else return;
  event.preventDefault();
}
function listenCross() {
  map.canvas.addEventListener('pointermove', (event) => {
    const at = crossCell(event);
    showTip(event, at ? [crossWords(...at)] : []);
  });
  map.canvas.addEventListener('pointerleave', () => showTip(null, []));
  map.canvas.addEventListener('click', (event) => {
    const at = crossCell(event);
    if (!at) return;
    map.cursor = at;
    keep(at);
  });
  map.canvas.addEventListener('focus', () => {
    map.cursor ??= [0, 0];
    showCross();
  });
  map.canvas.addEventListener('blur', showCross);
  map.canvas.addEventListener('keydown', crossKey);
}

// Models: points with intervals, the band between the ceilings, and which models differ.
const MODELS = DATA.models;
const MODEL_ROW = 26;
function modelsLayout(width, t) {
  const P = MODELS.names.length;
  const room = width > 460 ? 26 : 12;
  const label = (k) => `${middle(tidy(MODELS.names[k], 200), room)}  ${k + 1}`;
  const left = Math.max(...MODELS.names.map((_, k) => textWidth(label(k), 12, t.font))) + 12;
  const cell = Math.min(18, (0.4 * (width - left)) / P);
  const table = cell >= 9 && P > 1 ? P * cell + 14 : 0;
  return { P, label, left, cell, table, right: width - table - 4, top: 18, height: 18 + P * MODEL_ROW + 40 };
}
function drawModels(pen, width, t) {
  const box = modelsLayout(width, t);
  const { P, left, right, top } = box;
  const bottom = top + P * MODEL_ROW;
  const [low, high] = MODELS.limits;
  const x = (v) => left + ((right - left) * (Math.min(high, Math.max(low, v)) - low)) / (high - low);
  const style = { size: 12, fill: t.ink, font: t.font };
  const known = MODELS.ceilings.filter((one) => one[0] !== null);
  const band = known.map((one) => x(one[0]));
  pen.rect(Math.min(...band), top, Math.max(...band) - Math.min(...band), P * MODEL_ROW, { fill: t.soft, opacity: 0.16 });
  MODELS.ceilings.forEach(([value, from, to], k) => {
    if (value === null) return;
    pen.path([[x(value), top], [x(value), bottom]], { stroke: t.ink, dash: k ? [5, 4] : [] });
    pen.path([[x(from), bottom + 3 + 5 * k], [x(to), bottom + 3 + 5 * k]], { stroke: t.ink, width: 2, dash: k ? [5, 4] : [] });
  });
  MODELS.names.forEach((_, k) => {
    const y = top + (k + 0.5) * MODEL_ROW;
    const [value, from, to] = MODELS.values[k];
    pen.text(left - 8, y, box.label(k), { ...style, anchor: 'end' });
    pen.path([[x(from), y], [x(to), y]], { stroke: t.first, width: 2.5 });
    marker(pen, x(value), y, 'circle', 5, { fill: t.first });
  });
  const small = { size: 11, fill: t.soft, font: t.font };
  for (const tick of MODELS.ticks) {
    pen.path([[x(tick), bottom + 12], [x(tick), bottom + 16]], { stroke: t.soft });
    pen.text(x(tick), bottom + 24, String(tick), { ...small, anchor: 'middle' });
  }
  pen.text((left + right) / 2, bottom + 37, 'distance from the brains', { ...small, anchor: 'middle' });
  if (box.table) drawDifferences(pen, box, t);
}
function drawDifferences(pen, { P, cell, right, top }, t) {
  for (let j = 0; j < P; j++) {
    const x = right + 14 + j * cell;
    pen.text(x + cell / 2, top - 9, String(j + 1), { size: 10, fill: t.soft, font: t.font, anchor: 'middle' });
    for (let i = 0; i < P; i++) {
      if (i === j) continue;
      const y = top + (i + 0.5) * MODEL_ROW;
      const sign = MODELS.nearer[i][j];
      const side = cell - 3;
      pen.rect(x + 1.5, y - side / 2, side, side, { stroke: t.line, ...(sign ? { fill: sign > 0 ? t.first : t.second } : {}) });
      if (sign && cell >= 12) pen.text(x + cell / 2, y, sign > 0 ? '<' : '>', { size: 11, weight: 700, fill: t.dark ? '#000000' : '#ffffff', font: t.font, anchor: 'middle' });
    }
  }
}
function showModels() {
  if (!MODELS) return;
  const canvas = $('models');
  const width = canvas.parentElement.clientWidth - 2 * pad(canvas.parentElement);
  if (width <= 0) return;
  const { height } = modelsLayout(width, theme());
  canvas.style.height = `${height}px`;
  drawModels(new CanvasPen(canvas, width, height, devicePixelRatio || 1), width, theme());
  canvas.setAttribute('aria-label', `Distances from the brains: ${MODELS.names.map((one, k) => `${tidy(one, 40)} ${digits(MODELS.values[k][0], 3)}`).join(', ')}. Brains from each other: ${digits(MODELS.ceilings[0][0], 3)}`);
}

const PICTURES = {
  cross: { width: WIDE, height: (t) => crossLayout(WIDE, t).height, draw: (pen, t) => drawCross(pen, WIDE, t, false) },
  models: { width: WIDE, height: (t) => modelsLayout(WIDE, t).height, draw: (pen, t) => drawModels(pen, WIDE, t) },
};
const ROWS = {
  cross: () => [['', ...COLUMN_NAMES], ...ROW_NAMES.map((label, i) => [label, ...VALUES.subarray(i * C, (i + 1) * C)])],
  models: () => [['model', 'distance', 'low', 'high'], ...MODELS.names.map((label, k) => [label, ...MODELS.values[k]]), ...MODELS.ceilings.map((row, k) => [['between brains', 'to the mean of the others'][k], ...row])],
};
const redraw = () => {
  showCross();
  showModels();
};

map.image = mapImage(R, C, (i, j) => shareOf(VALUES[i * C + j]));
makeTheme(redraw);
makeSaves();
listenCross();
onPaper(redraw);
addEventListener('resize', redraw);
matchMedia('(prefers-color-scheme: dark)').addEventListener('change', redraw);
redraw();
performance.mark('ready');
performance.measure('open', { start: 0, end: 'ready' });
document.documentElement.dataset.ready = 'true';
