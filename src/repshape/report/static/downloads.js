// What can be saved of a page about matrices.

const raw = (column, k) => (column.kind === 'number' ? column.values[k] : column.levels[column.codes[k]] ?? '');
const title = () => matrixNow().name;

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
