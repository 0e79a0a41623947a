// Files: pictures as PNG and SVG, numbers as CSV; drawn on white whatever the page looks like.

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

const PICTURES = {
  heat: { width: 720, height: (t) => heatLayout(720, t).height, draw: (pen, t) => drawHeat(pen, 720, t, false) },
  plane: { width: 720, height: (t) => planeLayout(720, t).height, draw: (pen, t) => drawPlane(pen, 720, t, false) },
  pair: { width: 860, height: () => pairHeight(860), draw: (pen, t) => drawPair(pen, 860, t, picture.shown, false) },
  curve: { width: 560, height: () => CURVE_HEIGHT, draw: (pen, t) => drawCurve(pen, 560, t, false) },
};

const ROWS = {
  heat: () => [['', ...LABELS], ...LABELS.map((label, i) => [label, ...LABELS.map((_, j) => distance(matrixNow(), i, j))])],
  plane: () => [['network', 'x0', 'x1', ...DATA.columns.map((c) => c.name)], ...LABELS.map((label, k) => [label, ...(matrixNow().points?.subarray(2 * k, 2 * k + 2) ?? [NaN, NaN]), ...DATA.columns.map((c) => raw(c, k))])],
  pair: () => [['condition', ...['x', 'y before', 'y after'].flatMap((who) => ['mean 1', 'mean 2', 'covariance 11', 'covariance 12', 'covariance 22'].map((what) => `${who}: ${what}`))],
    ...matrixNow().pairs.conditions.map((condition, c) => [condition, ...['own', 'before', 'after'].flatMap((who) => [...picture.shown[who].subarray(5 * c, 5 * c + 5)])])],
  curve: () => [['dimension', ...matrixNow().curve.percentiles.map((p) => `p${p}`), 'stress'], ...matrixNow().curve.dimensions.map((d, k) => [d, ...matrixNow().curve.values[k], matrixNow().curve.stress[k]])],
  networks: () => [['network', ...DATA.columns.map((c) => c.name), 'nearest', 'distance'], ...tables.networks.order.map((k) => {
    const { who, best } = nearest(matrixNow());
    return [LABELS[k], ...DATA.columns.map((c) => raw(c, k)), LABELS[who[k]] ?? '', who[k] < 0 ? NaN : best[k]];
  })],
  pairs: () => [['first', 'second', 'distance', 'lower_bound', 'converged'], ...tables.pairs.order.map((p) => {
    const matrix = matrixNow();
    const [rows, columns] = ends(matrix);
    const solved = matrix.converged && !Number.isNaN(matrix.distances[p]) ? Boolean(matrix.converged[p]) : '';
    return [LABELS[rows[p]], LABELS[columns[p]], matrix.distances[p], matrix.bounds ? matrix.bounds[p] : NaN, solved];
  })],
};

function savePng(what) {
  const { width, height, draw } = PICTURES[what];
  const canvas = document.createElement('canvas');
  draw(new CanvasPen(canvas, width, height(PAPER), 3), PAPER);
  canvas.toBlob((blob) => save(blob, 'image/png', `${what}-${stem()}.png`), 'image/png');
  redraw();
}
function saveSvg(what) {
  const { width, height, draw } = PICTURES[what];
  const pen = new SvgPen(width, height(PAPER));
  draw(pen, PAPER);
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
