// The data of a page about matrices, its state, and helper functions.

const LABELS = DATA.labels;
const K = LABELS.length;

/** Define a property that is computed when it is first read. */
function lazy(object, name, make) {
  Object.defineProperty(object, name, {
    configurable: true,
    get() {
      const value = make();
      Object.defineProperty(object, name, { value });
      return value;
    },
  });
}

for (const matrix of DATA.matrices) {
  for (const name of ['distances', 'converged', 'starts', 'agreeing', 'levels', 'rows', 'columns', 'points', 'order', 'norms', 'dimensions', 'floors', 'pair_floors', 'plug_in']) {
    const packed = matrix[name];
    if (packed) lazy(matrix, name, () => unpack(packed));
  }
  // Bounds are kept as shares of the distances.
  const shares = matrix.bounds;
  if (shares) lazy(matrix, 'bounds', () => Float64Array.from(unpack(shares), (share, p) => share * matrix.distances[p]));
}
for (const cohort of DATA.cohorts) {
  for (const name of ['neurons', 'fewest', 'most']) {
    const packed = cohort[name];
    lazy(cohort, name, () => unpack(packed));
  }
  const packed = cohort.trials;
  lazy(cohort, 'trials', () => packed && packed.map(unpack));
}
for (const column of DATA.columns) {
  const packed = column.values || column.codes;
  lazy(column, column.kind === 'number' ? 'values' : 'codes', () => unpack(packed));
}

/** Index of the pair i < j in the upper triangle. */
const place = (i, j) => (i * (2 * K - i - 1)) / 2 + j - i - 1;

/** Distance between two networks; on a page with many networks, rounded to 1/254 of the range. */
function distance(matrix, i, j) {
  if (i === j) return 0;
  const at = i < j ? place(i, j) : place(j, i);
  if (DATA.full) return matrix.distances[at];
  const row = rowOf(matrix, i, j);
  if (row >= 0) return matrix.distances[row];
  const level = matrix.levels[at];
  return level === 255 ? NaN : matrix.low + (level / 254) * (matrix.top - matrix.low);
}
/** What to write before a distance that is rounded, or is only known to be above the last colour. */
function roughly(matrix, i, j) {
  if (DATA.full || rowOf(matrix, i, j) >= 0) return '';
  return matrix.levels[i < j ? place(i, j) : place(j, i)] === 254 && matrix.high > matrix.top ? 'at least ' : 'about ';
}

/** The noise floor of a pair: what its distance would be if the two networks were equal. */
function floorOf(matrix, i, j) {
  if (matrix.pair_floors) {
    const row = rowOf(matrix, i, j);
    return row < 0 ? NaN : matrix.pair_floors[row];
  }
  if (!matrix.floors) return NaN;
  const squared = (matrix.floors[i] + matrix.floors[j]) / 2;
  return Math.sign(squared) * Math.sqrt(Math.abs(squared));
}

/** Estimates of a floor may be negative: then noise alone gives no distance on average. */
const floorWords = (floor, count = 3) => (floor > 0 ? digits(floor, count) : 'not above 0');

const levelWords = (matrix) => `${Math.round(100 * matrix.intervals.level)} % interval`;

/** The distance of a pair corrected for noise, with the ends of its interval; null if it is not known. */
function intervalOf(matrix, i, j) {
  const given = matrix.intervals;
  if (!given.at) {
    given.list = unpack(given.values);
    given.at = new Map(Array.from(unpack(given.places), (at, k) => [at, k]));
  }
  const k = given.at.get(i < j ? place(i, j) : place(j, i));
  return k === undefined ? null : given.list.subarray(3 * k, 3 * k + 3);
}

/** The row of a pair in the table of pairs, or -1. */
function rowOf(matrix, i, j) {
  const [a, b] = i < j ? [i, j] : [j, i];
  if (a === b) return -1;
  if (DATA.full) return place(a, b);
  if (!matrix.lookup) {
    matrix.lookup = new Map();
    matrix.rows.forEach((row, k) => matrix.lookup.set(row * K + matrix.columns[k], k));
  }
  return matrix.lookup.get(a * K + b) ?? -1;
}

/** The two networks of each row in the table of pairs. */
function ends(matrix) {
  if (!DATA.full) return [matrix.rows, matrix.columns];
  if (!ends.all) {
    const total = (K * (K - 1)) / 2;
    const rows = new Int32Array(total);
    const columns = new Int32Array(total);
    for (let i = 0, k = 0; i < K; i++) {
      for (let j = i + 1; j < K; j++, k++) {
        rows[k] = i;
        columns[k] = j;
      }
    }
    ends.all = [rows, columns];
  }
  return ends.all;
}

const name = (k, most = 40) => tidy(LABELS[k], most);
/** Length of the beginning that all names share, up to a separator. */
const SHARED = (() => {
  if (K < 2) return 0;
  let length = 0;
  while (length < LABELS[0].length && LABELS.every((label) => label[length] === LABELS[0][length])) length++;
  return Math.max(...[' ', '-', '_', '/', '.', ':'].map((mark) => LABELS[0].lastIndexOf(mark, length - 1) + 1), 0);
})();
/** A name in little room: without what all names share, then by its end, because names often differ there. */
function brief(k, most) {
  const whole = tidy(LABELS[k], 200);
  if (whole.length <= most) return whole;
  const rest = SHARED > 1 ? `\u2026${whole.slice(SHARED)}` : whole;
  if (rest.length <= most) return rest;
  return SHARED > 1 ? `\u2026${whole.slice(1 - most)}` : middle(whole, most);
}

/** Whether the pair of a row is solved exactly, so that its lower bound does not matter. */
const isExact = (matrix, row) => Boolean(matrix.exact && matrix.starts?.[row] === 1);
/** Gap between a distance and its lower bound, relative to the distance; NaN if uninformative. */
const gapOf = (matrix, far, bound) => (far > 0 && bound > 0 && !matrix.coincide && !vanishes(matrix, far) ? 1 - bound / far : NaN);
const gapWords = (share) => (Number.isNaN(share) ? '\u2013' : share <= 1e-6 ? 'none (proven minimal)' : `${digits(100 * share, 2)} %`);

// Anything below this fraction of a distance is rounding error, because distances are square roots.
const VANISHES = 1e-7;
const beside = (value, far, count = 5) => (Math.abs(value) < VANISHES * Math.abs(far) ? '\u2248 0' : digits(value, count));
/** Whether a distance is rounding error compared with the largest. If all are, they are shown as they are. */
const vanishes = (matrix, far) => !matrix.coincide && Math.abs(far) < VANISHES * matrix.high;
const distanceWords = (matrix, far, count = 4) => (vanishes(matrix, far) ? '\u2248 0' : digits(far, count));
const boundWords = (matrix, bound, far) => (vanishes(matrix, far) ? '\u2248 0' : beside(bound, far));
// The state of the page, and the functions to call when it changes.
const state = { matrix: 0, column: DATA.columns.length ? 0 : -1, order: 'clusters', selected: [], hidden: [], hover: [], found: null };
const listeners = [];
const onChange = (listen) => listeners.push(listen);
function change(update) {
  Object.assign(state, update);
  const keys = Object.keys(update);
  for (const listen of listeners) listen(keys);
}
const matrixNow = () => DATA.matrices[state.matrix];
const columnNow = () => DATA.columns[state.column];
const cohortNow = () => DATA.cohorts[matrixNow().cohort] ?? null;
const pairNow = () => (state.selected.length > 1 ? state.selected.slice(-2) : null);

function toggle(k) {
  const rest = state.selected.filter((other) => other !== k);
  change({ selected: rest.length < state.selected.length ? rest : [...rest, k] });
  say(describeSelection());
}
function choosePair(i, j) {
  change({ selected: i === j ? [i] : [i, j] });
  openDrawer(true);
  say(describeSelection());
}
function clearSelection() {
  change({ selected: [] });
  say('Nothing is selected.');
}

function pairWords(i, j) {
  const matrix = matrixNow();
  const far = distance(matrix, i, j);
  if (Number.isNaN(far)) return `${name(i)} and ${name(j)}: not computed yet`;
  const floor = floorOf(matrix, i, j);
  const found = matrix.plug_in && intervalOf(matrix, i, j);
  const plain = floor > 0 ? ` (noise floor ${digits(floor, 3)})` : '';
  // A floor belongs beside a distance that is not corrected for noise.
  const noise = found ? ` (${levelWords(matrix)} ${digits(found[1], 3)} to ${digits(found[2], 3)})` : matrix.plug_in ? '' : plain;
  return `${name(i)} and ${name(j)}: distance ${roughly(matrix, i, j)}${distanceWords(matrix, far)}${noise}`;
}
function describeNetwork(k) {
  const column = columnNow();
  return column ? `${name(k)}, ${tidy(column.name, 30)} ${cell(column, k)}` : name(k);
}
function describeSelection() {
  const pair = pairNow();
  if (pair) return `Selected: ${pairWords(...pair)}`;
  return state.selected.length ? `Selected: ${describeNetwork(state.selected[0])}` : 'Nothing is selected.';
}
/** Integers, which may be dates or identifiers, in full; other numbers with six digits. */
const plainNumber = (value) => (Number.isNaN(value) ? '\u2013' : String(Number.isInteger(value) ? value : +value.toPrecision(6)));

/** The value of a metadata column for a network, as text. */
function cell(column, k, most = 60) {
  if (column.kind === 'number') return plainNumber(column.values[k]);
  return column.codes[k] < 0 ? '\u2013' : tidy(column.levels[column.codes[k]], most);
}

// Colours, those of figures. Marker shapes carry the same information.
const QUALITATIVE = DATA.colours.levels;
const SHAPES = DATA.shapes;
const POINTS = { light: ramp(DATA.colours.light), dark: ramp(DATA.colours.dark) };
const CYCLIC = ramp(DATA.colours.cyclic);
const pointColours = (t, column = columnNow()) => (column?.period ? CYCLIC : POINTS[t.dark ? 'dark' : 'light']);
const NEUTRAL = '#5b8fb9';

/** The ends of a colour bar in words; numbers beyond them have the colour of the end. */
const barWords = (column) => {
  const [low, high] = column.limits;
  if (column.period) return [plainNumber(low), plainNumber(high)];
  const beyond = (test) => column.values.some(test);
  return [`${beyond((v) => v < low) ? '\u2264 ' : ''}${plainNumber(low)}`, `${beyond((v) => v > high) ? '\u2265 ' : ''}${plainNumber(high)}`];
};
function look(k, t) {
  const column = columnNow();
  if (!column) return { colour: NEUTRAL, shape: 'circle' };
  if (column.kind === 'number') {
    const [low, high] = column.limits;
    if (column.period && !Number.isNaN(column.values[k])) {
      const turn = column.values[k] / column.period;
      return { colour: CYCLIC[Math.floor(256 * (turn - Math.floor(turn))) % 256], shape: 'circle' };
    }
    const value = Math.min(high, Math.max(low, column.values[k]));
    if (Number.isNaN(value)) return { colour: '#999999', shape: 'cross' };
    return { colour: pointColours(t)[high > low ? Math.round((255 * (value - low)) / (high - low)) : 128], shape: 'circle' };
  }
  return levelLook(column.codes[k]);
}
function levelLook(code) {
  if (code < 0) return { colour: '#999999', shape: 'cross' };
  return { colour: QUALITATIVE[code % QUALITATIVE.length], shape: SHAPES[code % SHAPES.length] };
}

/** Whether the legend hides the group of a network. */
const isHidden = (k) => state.hidden.length > 0 && columnNow()?.kind === 'category' && state.hidden.includes(columnNow().codes[k]);

/** The order of the networks in the map. */
function networkOrder() {
  const natural = Array.from({ length: K }, (_, k) => k);
  if (state.order === 'given') return natural;
  if (state.order === 'clusters') return Array.from(matrixNow().order);
  const column = DATA.columns[Number(state.order)];
  const keys = column.kind === 'number' ? column.values : column.codes;
  const key = (k) => (Number.isNaN(keys[k]) ? Infinity : keys[k]);
  return natural.sort((a, b) => key(a) - key(b) || a - b);
}
