// Controls, redrawing and initialisation.

const CURVE_HEIGHT = 240;
function drawCurve(pen, width, t) {
  const { curve } = matrixNow();
  const [left, right, top, bottom] = [62, width - 12, 12, CURVE_HEIGHT - 40];
  // A logarithmic scale from 1 to the largest value, which is infinite if points coincide.
  const finite = curve.values.flat().filter((v) => v !== null);
  const high = Math.max(1.05, Math.min(Math.max(...finite), 16));
  const [low, last] = [curve.dimensions[0], curve.dimensions.at(-1)];
  const x = (k) => left + ((right - left) * (curve.dimensions[k] - low)) / Math.max(last - low, 1);
  const y = (v) => bottom - ((bottom - top) * Math.log(Math.min(v ?? high, high))) / Math.log(high);
  const style = { size: 11, fill: t.soft, font: t.font };
  let lowest = Infinity;
  for (const value of [1, 1.01, 1.02, 1.05, 1.1, 1.2, 1.5, 2, 3, 5, 8, 16]) {
    if (value > high || lowest - y(value) < 24) continue;
    lowest = y(value);
    pen.path([[left, y(value)], [right, y(value)]], { stroke: t.line });
    pen.text(left - 6, y(value), String(value), { ...style, anchor: 'end' });
  }
  curve.dimensions.forEach((d, k) => pen.text(x(k), bottom + 14, String(d), { ...style, anchor: 'middle' }));
  pen.text((left + right) / 2, bottom + 32, 'dimension of the embedding', { ...style, anchor: 'middle' });
  pen.text(10, (top + bottom) / 2, 'distortion', { ...style, anchor: 'middle', turn: -Math.PI / 2 });
  const at = (p) => curve.values.map((row, k) => [x(k), y(row[curve.percentiles.indexOf(p)])]);
  pen.path([...at(5), ...at(95).reverse()], { fill: t.first, opacity: 0.14 }, true);
  pen.path([...at(25), ...at(75).reverse()], { fill: t.first, opacity: 0.25 }, true);
  pen.path(at(50), { stroke: t.first, width: 2 });
  for (const [u, v] of at(50)) marker(pen, u, v, 'circle', 3.5, { fill: t.first });
}
function showCurve() {
  const { curve } = matrixNow();
  $('curve-card').hidden = !curve;
  if (!curve) return;
  const canvas = $('curve');
  const width = Math.min(canvas.parentElement.clientWidth, 640);
  canvas.style.height = `${CURVE_HEIGHT}px`;
  canvas.style.width = `${width}px`;
  drawCurve(new CanvasPen(canvas, width, CURVE_HEIGHT, devicePixelRatio || 1), width, theme());
  const median = curve.values.map((row) => row[curve.percentiles.indexOf(50)]);
  canvas.setAttribute('aria-label', `Median distortion by dimension: ${curve.dimensions.map((d, k) => `${d}: ${digits(median[k], 3)}`).join(', ')}`);
}

// Figures are redrawn at most once per frame.
const SHOWS = { heat: showHeat, plane: showPlane, pair: showPair, curve: showCurve };
const waiting = new Set();
let frame = 0;
function schedule(...names) {
  names.forEach((one) => waiting.add(one));
  if (frame) return;
  frame = requestAnimationFrame(() => {
    frame = 0;
    const now = [...waiting];
    waiting.clear();
    now.forEach((one) => SHOWS[one]());
  });
}
const redraw = () => schedule('heat', 'plane', 'pair', 'curve');

/** Highlight networks in both figures, and show a tooltip at the pointer. */
function hover(networks, event, lines) {
  showTip(event, lines);
  const same = networks.length === state.hover.length && networks.every((k, at) => k === state.hover[at]);
  if (!same) change({ hover: networks });
  else if (!event) schedule('heat', 'plane');
}

function showChosen() {
  const list = $('chosen');
  list.replaceChildren(
    ...state.selected.slice(-12).map((k) => {
      const item = element('li');
      const button = element('button', describeNetwork(k), { type: 'button', class: 'chip', 'aria-label': `Remove ${name(k)} from the selection` });
      button.addEventListener('click', () => {
        toggle(k);
        (list.querySelector('button') ?? $('plane')).focus({ preventScroll: true });
      });
      item.append(button);
      return item;
    }),
  );
  if (state.selected.length > 12) list.prepend(element('li', `${state.selected.length - 12} more`));
  $('chosen-none').hidden = state.selected.length > 0;
  $('clear').hidden = state.selected.length === 0;
}

function showParts() {
  for (const part of document.querySelectorAll('.matrix-part')) part.hidden = Number(part.dataset.matrix) !== state.matrix;
  const cohort = cohortNow();
  // Conditions without trials, or numbered ones with as many trials each, are not worth a table.
  $('conditions-card').hidden = !cohort?.trials || !(cohort.named || cohort.trials[0].some((least) => least !== cohort.trials[2][0]));
}

function listen() {
  let before = 0;
  onChange((keys) => {
    const has = (key) => keys.includes(key);
    if (has('matrix')) {
      walkFrom(before);
      before = state.matrix;
      heat.cursor = null;
      state.hover = [];
      showParts();
    }
    if (has('column')) state.hidden = has('hidden') ? state.hidden : [];
    if (has('column') || has('hidden')) showLegend();
    if (has('hidden')) tables.networks.arrange();
    if (has('selected') || has('matrix')) turnFromStart();
    if (REMEMBERED.some(has)) writeHash();
    if (has('matrix') || (has('order') && state.order !== null)) paintHeat();
    if (has('matrix')) for (const table of Object.values(tables)) table.renew();
    else if (has('selected')) {
      tables.networks.show();
      if ($('pairs-selected').checked) tables.pairs.arrange();
      else tables.pairs.show();
    }
    if (has('selected') || has('column')) showChosen();
    schedule('heat', 'plane', ...(has('selected') || has('matrix') ? ['pair'] : []), ...(has('matrix') ? ['curve'] : []));
  });
  $('switch').addEventListener('change', (event) => {
    change({ matrix: Number(event.target.value) });
    say(`${tidy(matrixNow().name)}. ${state.selected.length ? describeSelection() : ''}`);
  });
  $('colour').addEventListener('change', (event) => change({ column: Number(event.target.value) }));
  $('order').addEventListener('change', (event) => change({ order: event.target.value }));
  $('clear').addEventListener('click', clearSelection);
  addEventListener('resize', () => {
    measureBar();
    redraw();
  });
  addEventListener('hashchange', () => {
    if (location.hash !== written) readHash();
    written = location.hash;
  });
  matchMedia('(prefers-color-scheme: dark)').addEventListener('change', redraw);
  let open = false;
  onPaper((start) => {
    if (start) open = $('pair').classList.contains('open');
    openDrawer(start || open);
    for (const show of Object.values(SHOWS)) show();
  });
}

// The state that a link holds: matrix, column of the colours, order, selected networks and hidden groups.
const REMEMBERED = ['matrix', 'column', 'order', 'selected', 'hidden'];
let [reading, written] = [false, ''];
function writeHash() {
  if (reading) return;
  const parts = { m: state.matrix, c: state.column, o: state.order, s: state.selected.join('.'), h: state.hidden.join('.') };
  const text = Object.entries(parts).map(([key, value]) => `${key}=${encodeURIComponent(value)}`).join('&');
  if (location.hash.slice(1) !== text) location.hash = text;
  written = location.hash;
}

/** Restore the state from the address; what is not there, or not valid, stays as at first. */
function readHash() {
  const given = new URLSearchParams(location.hash.slice(1));
  if (location.hash.length > 1 && !given.has('m')) return; // a place on the page
  const whole = (key, low, high, otherwise) => {
    const value = Number(given.get(key) ?? NaN);
    return Number.isInteger(value) && given.get(key) !== '' && value >= low && value < high ? value : otherwise;
  };
  const list = (key, low, high) => (given.get(key) || '').split('.').filter(Boolean).map(Number).filter((k) => Number.isInteger(k) && k >= low && k < high);
  const column = whole('c', -1, DATA.columns.length, FIRST.column);
  const order = ['clusters', 'given'].includes(given.get('o')) ? given.get('o') : String(whole('o', 0, DATA.columns.length, FIRST.order));
  const levels = DATA.columns[column]?.levels?.length ?? 0;
  reading = true;
  change({ matrix: whole('m', 0, DATA.matrices.length, 0), column, order, selected: [...new Set(list('s', 0, K))], hidden: list('h', -1, levels) });
  reading = false;
  document.querySelectorAll('[name=matrix]')[state.matrix].checked = true;
  $('colour').value = state.column;
  $('order').value = state.order;
}
const FIRST = { column: state.column, order: state.order };

/** Tell the styles how tall the bar is, under which the drawer begins. */
function measureBar() {
  document.documentElement.style.setProperty('--bar', `${document.querySelector('.bar').offsetHeight + 12}px`);
}

function makeControls() {
  const colour = $('colour');
  colour.append(element('option', 'nothing', { value: -1 }));
  const order = $('order');
  order.append(element('option', 'clustering', { value: 'clusters' }), element('option', 'input', { value: 'given' }));
  DATA.columns.forEach((column, at) => {
    colour.append(element('option', tidy(column.name, 40), { value: at }));
    order.append(element('option', tidy(column.name, 40), { value: at }));
  });
  colour.value = state.column;
}

makeControls();
makeTheme(redraw);
makeSaves();
makeTables();
listenHeat();
listenPlane();
listenPair();
listen();
measureBar();
showParts();
showChosen();
showLegend();
paintHeat();
for (const show of Object.values(SHOWS)) show();
for (const table of Object.values(tables)) table.arrange();
if (location.hash.length > 1) readHash();
performance.mark('ready');
performance.measure('open', { start: 0, end: 'ready' });
document.documentElement.dataset.ready = 'true';
