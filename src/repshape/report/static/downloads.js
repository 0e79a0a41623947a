// Downloads: figures as PNG and SVG on a white background, and numbers as CSV.

function save(content, type, file) {
  const link = element('a', null, { href: URL.createObjectURL(new Blob([content], { type })), download: file });
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(link.href), 10000);
  say(`Saved ${file}.`);
}

const csvCell = (value) => {
  const text = value === null || Number.isNaN(value) ? '' : String(value);
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
};
const csv = (rows) => `${rows.map((row) => row.map(csvCell).join(',')).join('\n')}\n`;
const raw = (column, k) => (column.kind === 'number' ? column.values[k] : column.levels[column.codes[k]] ?? '');
const stem = () => matrixNow().name.replace(/[^\p{L}\p{N}.]+/gu, '-').replace(/^-|-$/g, '').slice(0, 60) || 'matrix';

const WIDE = 720;
const PICTURES = {
  heat: {
    width: WIDE,
    height: (t) => heatLayout(WIDE, t).height + 8 + legend(null, 0, 0, heatLayout(WIDE, t).side, t),
    draw(pen, t) {
      const box = drawHeat(pen, WIDE, t, false);
      legend(pen, box.left, box.height + 8, box.side, t);
    },
  },
  plane: { width: WIDE, height: (t) => planeLayout(WIDE, t).height, draw: (pen, t) => drawPlane(pen, WIDE, t, false) },
  pair: { width: 860, height: () => pairHeight(860), draw: (pen, t) => drawPair(pen, 860, t, picture.shown) },
  curve: { width: 560, height: () => CURVE_HEIGHT, draw: (pen, t) => drawCurve(pen, 560, t) },
};
const MARGIN = 16;
const TITLE = 26;

/** Size of a figure to save, and how to draw it: on white, with a margin and a title. */
function framed(what) {
  const { width, height, draw } = PICTURES[what];
  const size = [width + 2 * MARGIN, height(PAPER) + 2 * MARGIN + TITLE];
  return { size, draw(pen) {
    pen.rect(0, 0, ...size, { fill: PAPER.back });
    pen.text(MARGIN, MARGIN + 6, tidy(matrixNow().name, 90), { size: 14, weight: 600, fill: PAPER.ink, font: PAPER.font });
    pen.shift(MARGIN, MARGIN + TITLE);
    draw(pen, PAPER);
  } };
}

const ROWS = {
  heat: () => [['', ...LABELS], ...LABELS.map((label, i) => [label, ...LABELS.map((_, j) => distance(matrixNow(), i, j))])],
  plane: () => [['network', 'x0', 'x1', ...DATA.columns.map((c) => c.name)], ...LABELS.map((label, k) => [label, ...(matrixNow().points?.subarray(2 * k, 2 * k + 2) ?? [NaN, NaN]), ...DATA.columns.map((c) => raw(c, k))])],
  pair: () => [['condition', ...['x', 'y before', 'y after'].flatMap((who) => ['mean 1', 'mean 2', 'covariance 11', 'covariance 12', 'covariance 22'].map((what) => `${who}: ${what}`))],
    ...matrixNow().pairs.conditions.map((condition, c) => [condition, ...['own', 'before', 'after'].flatMap((who) => [...picture.shown[who].subarray(5 * c, 5 * c + 5)])])],
  curve: () => [['dimension', ...matrixNow().curve.percentiles.map((p) => `p${p}`), 'stress'], ...matrixNow().curve.dimensions.map((d, k) => [d, ...matrixNow().curve.values[k], matrixNow().curve.stress[k]])],
  conditions: () => [['condition', 'fewest_trials', 'median_trials', 'most_trials'], ...tables.conditions.order.map((m) => [cohortNow().conditions[m], ...[0, 1, 2].map((row) => cohortNow().trials?.[row][m] ?? '')])],
  networks: () => [['network', 'neurons', 'fewest_trials', 'most_trials', 'norm', 'noise_floor', ...DATA.columns.map((c) => c.name), 'nearest', 'distance'], ...tables.networks.order.map((k) => {
    const { who, best } = nearest(matrixNow());
    const matrix = matrixNow();
    const known = [cohortNow()?.neurons[k] ?? '', cohortNow()?.fewest[k] || '', cohortNow()?.most[k] || '', matrix.norms?.[k] ?? '', matrix.floors ? floorOf(matrix, k, k) : ''];
    return [LABELS[k], ...known, ...DATA.columns.map((c) => raw(c, k)), LABELS[who[k]] ?? '', who[k] < 0 ? NaN : best[k]];
  })],
  pairs: () => [['first', 'second', 'distance', 'lower_bound', 'converged', 'starts', 'agreeing', 'noise_floor', 'corrected', 'low', 'high'], ...tables.pairs.order.map((p) => {
    const matrix = matrixNow();
    const [rows, columns] = ends(matrix);
    const solved = matrix.converged && !Number.isNaN(matrix.distances[p]) ? Boolean(matrix.converged[p]) : '';
    return [LABELS[rows[p]], LABELS[columns[p]], matrix.distances[p], matrix.bounds ? matrix.bounds[p] : NaN, solved, matrix.starts?.[p] ?? '', matrix.agreeing?.[p] ?? '', floorOf(matrix, rows[p], columns[p]), ...(intervalOf(matrix, rows[p], columns[p]) ?? ['', '', ''])];
  })],
};

function savePng(what) {
  const { size, draw } = framed(what);
  const canvas = document.createElement('canvas');
  draw(new CanvasPen(canvas, ...size, 3));
  canvas.toBlob((blob) => save(blob, 'image/png', `${what}-${stem()}.png`), 'image/png');
  redraw();
}
function saveSvg(what) {
  const { size, draw } = framed(what);
  const pen = new SvgPen(...size);
  draw(pen);
  save(pen.done(), 'image/svg+xml', `${what}-${stem()}.svg`);
  redraw();
}
const saveCsv = (what) => save(csv(ROWS[what]()), 'text/csv', `${what}-${stem()}.csv`);

function makeSaves() {
  for (const place of document.querySelectorAll('[data-saves]')) {
    const what = place.dataset.saves;
    const kinds = { ...(PICTURES[what] ? { PNG: savePng, SVG: saveSvg } : {}), CSV: saveCsv };
    for (const [kind, act] of Object.entries(kinds)) {
      const button = element('button', kind, { type: 'button', class: 'save', 'data-save': `${what}-${kind.toLowerCase()}`, 'aria-label': `Save as ${kind}` });
      button.addEventListener('click', () => act(what));
      place.append(button);
    }
  }
}
