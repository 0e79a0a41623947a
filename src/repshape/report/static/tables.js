// Tables of networks and pairs, with search, sorting and pages.

const PAGE = 20;

/** A table of `rows()` rows; `make` returns its columns for the present matrix: how to show and compare cells. */
class Table {
  constructor(id, make, { rows, matches, picked, pick, empty }) {
    Object.assign(this, { id, make, columns: make(), rows, matches, picked, pick, empty, page: 0, sort: null, down: false, filter: '' });
    this.table = $(id);
    this.order = [];
    this._head();
    $(`${id}-search`).addEventListener('input', (event) => {
      this.filter = event.target.value;
      this.page = 0;
      this.arrange();
    });
    this._pager();
  }

  _head() {
    const line = element('tr');
    this.columns.forEach((column, at) => {
      const head = element('th', null, { scope: 'col', 'aria-sort': 'none', class: column.number ? 'num' : '' });
      const button = element('button', column.title, { type: 'button', class: 'sort' });
      button.addEventListener('click', () => this.sortBy(at));
      head.append(button);
      line.append(head);
    });
    this.table.tHead.replaceChildren(line);
  }

  /** Show the columns of another matrix, sorted as before if that column is still there. */
  renew() {
    const sorted = this.columns[this.sort]?.title;
    this.columns = this.make();
    const at = this.columns.findIndex((column) => column.title === sorted);
    this.sort = at < 0 ? null : at;
    this._head();
    this.arrange();
  }

  sortBy(at) {
    this.down = this.sort === at ? !this.down : false;
    this.sort = at;
    this.page = 0;
    this.arrange();
    say(`Sorted by ${this.columns[at].title}, ${this.down ? 'largest' : 'smallest'} first.`);
  }

  /** Choose the rows to show and their order. */
  arrange() {
    const words = this.filter.toLowerCase().split(/\s+/).filter(Boolean);
    const found = [];
    const total = this.rows();
    for (let k = 0; k < total; k++) if (this.matches(k, words)) found.push(k);
    if (this.sort !== null) {
      const { key, text } = this.columns[this.sort];
      const sign = this.down ? -1 : 1;
      const keys = new Map(found.map((k) => [k, key(k)]));
      found.sort((a, b) => {
        const [u, v] = [keys.get(a), keys.get(b)];
        if (text) return sign * COLLATE.compare(u, v) || a - b;
        if (Number.isNaN(u) || Number.isNaN(v)) return Number.isNaN(u) - Number.isNaN(v) || a - b;
        return sign * (u - v) || a - b;
      });
    }
    this.order = found;
    this.show();
  }

  show() {
    const pages = Math.max(1, Math.ceil(this.order.length / PAGE));
    this.page = Math.min(this.page, pages - 1);
    [...this.table.tHead.rows[0].cells].forEach((head, at) => {
      head.setAttribute('aria-sort', at !== this.sort ? 'none' : this.down ? 'descending' : 'ascending');
    });
    const lines = this.order.slice(this.page * PAGE, (this.page + 1) * PAGE).map((k) => this._line(k));
    if (!lines.length) {
      const line = element('tr');
      line.append(element('td', this.empty(), { colspan: this.columns.length, class: 'hint' }));
      lines.push(line);
    }
    const held = this.table.tBodies[0].contains(document.activeElement) ? document.activeElement.closest('tr').dataset.row : null;
    this.table.tBodies[0].replaceChildren(...lines);
    // The keyboard focus stays on the same row.
    if (held !== null) (lines.find((line) => line.dataset.row === held) ?? lines[0]).querySelector('button')?.focus({ preventScroll: true });
    this.count.textContent = `${plural(this.order.length, 'row')}, page ${this.page + 1} of ${pages}`;
    this.back.disabled = this.page === 0;
    this.next.disabled = this.page >= pages - 1;
  }

  _line(k) {
    const line = element('tr', null, { 'data-row': k });
    const picked = this.picked(k);
    line.classList.toggle('picked', picked);
    this.columns.forEach((column, at) => {
      const cellElement = element(at ? 'td' : 'th', null, { dir: 'auto', ...(at ? {} : { scope: 'row' }), class: column.number ? 'num' : '' });
      if (at || !this.pick) cellElement.textContent = column.show(k);
      else {
        const button = element('button', column.show(k), { type: 'button', class: 'pickone', 'aria-pressed': String(picked) });
        cellElement.append(button);
      }
      line.append(cellElement);
    });
    if (this.pick) line.addEventListener('click', () => this.pick(k));
    return line;
  }

  _pager() {
    const pager = $(`${this.id}-pager`);
    const button = (text, step) => {
      const made = element('button', text, { type: 'button', class: 'plain' });
      made.addEventListener('click', () => {
        this.page += step;
        this.show();
        say(this.count.textContent);
      });
      return made;
    };
    this.back = button('Previous', -1);
    this.next = button('Next', 1);
    this.count = element('span', '');
    pager.append(this.back, this.count, this.next);
  }
}

const COLLATE = new Intl.Collator('en', { numeric: true });
const LOWER = LABELS.map((label) => label.toLowerCase());

/** The nearest neighbour of each network in a matrix. */
function nearest(matrix) {
  if (!matrix.nearest) {
    const best = new Float64Array(K).fill(Infinity);
    const who = new Int32Array(K).fill(-1);
    const [rows, columns] = ends(matrix);
    matrix.distances.forEach((far, p) => {
      const [i, j] = [rows[p], columns[p]];
      if (far < best[i]) [best[i], who[i]] = [far, j];
      if (far < best[j]) [best[j], who[j]] = [far, i];
    });
    matrix.nearest = { best, who };
  }
  return matrix.nearest;
}

const spanWords = (low, high) => (low === high ? String(low) : `${low}\u2013${high}`);

/** The name of a network in a table: on a small screen, its end, in which networks differ. */
const rowName = (k, most) => (innerWidth <= 860 ? brief(k, 15) : name(k, most));

function networkColumns() {
  const near = (k) => nearest(matrixNow());
  const whole = (value) => (Number.isNaN(value) ? '\u2013' : String(value));
  const trials = (k) => (cohortNow()?.fewest[k] ? cohortNow().fewest[k] : NaN);
  const ratio = (k) => (matrixNow().dimensions ? trials(k) / matrixNow().dimensions[k] : NaN);
  const neurons = (k) => cohortNow()?.neurons[k] ?? NaN;
  const norm = (k) => matrixNow().norms?.[k] ?? NaN;
  const floor = (k) => (matrixNow().floors ? floorOf(matrixNow(), k, k) : NaN);
  const number = (title, value, show) => ({ title, number: true, key: value, show: (k) => (Number.isNaN(value(k)) ? '\u2013' : show(value(k), k)) });
  return [
    { title: 'Network', text: true, key: (k) => LABELS[k], show: (k) => rowName(k, 60) },
    ...DATA.columns.map((column) => ({
      title: tidy(column.name, 40),
      number: column.kind === 'number',
      text: column.kind !== 'number',
      key: (k) => (column.kind === 'number' ? column.values[k] : column.levels[column.codes[k]] ?? ''),
      show: (k) => cell(column, k, 60),
    })),
    ...(cohortNow() ? [number('Neurons', neurons, whole)] : []),
    ...(cohortNow()?.trials ? [number('Trials of a condition', trials, (least, k) => spanWords(least, cohortNow().most[k])), number('Trials per dimension', ratio, (v) => digits(v, 2))] : []),
    ...(matrixNow().norms ? [number('Norm', norm, (v) => digits(v, 3))] : []),
    ...(matrixNow().floors ? [number('Noise floor', floor, (v) => floorWords(v))] : []),
    { title: 'Nearest neighbour', text: true, key: (k) => LABELS[near(k).who[k]] ?? '', show: (k) => (near(k).who[k] < 0 ? '\u2013' : rowName(near(k).who[k])) },
    { title: 'Distance to it', number: true, key: (k) => near(k).best[k], show: (k) => (near(k).who[k] < 0 ? '\u2013' : distanceWords(matrixNow(), near(k).best[k])) },
  ];
}

function pairColumns() {
  const at = (side) => (p) => ends(matrixNow())[side][p];
  const [first, second] = [at(0), at(1)];
  const far = (p) => matrixNow().distances[p];
  const bound = (p) => (matrixNow().bounds && !isExact(matrixNow(), p) ? matrixNow().bounds[p] : NaN);
  const gap = (p) => gapOf(matrixNow(), far(p), bound(p));
  const solved = (p) => (matrixNow().converged && !Number.isNaN(far(p)) ? matrixNow().converged[p] : NaN);
  const number = (value, show) => ({ number: true, key: value, show });
  const floor = (p) => floorOf(matrixNow(), first(p), second(p));
  const interval = (p) => intervalOf(matrixNow(), first(p), second(p));
  const share = (p) => (matrixNow().starts?.[p] > 1 ? matrixNow().agreeing[p] / matrixNow().starts[p] : NaN);
  const { floors, pair_floors: pairFloors, intervals, starts, bounds: proven, converged } = matrixNow();
  const exact = matrixNow().exact && starts.every((made) => made === 1);
  const dash = (value, show) => (Number.isNaN(value) ? '\u2013' : show(value));
  return [
    { title: 'First', text: true, key: (p) => LABELS[first(p)], show: (p) => rowName(first(p)) },
    { title: 'Second', text: true, key: (p) => LABELS[second(p)], show: (p) => rowName(second(p)) },
    { title: 'Distance', ...number(far, (p) => (Number.isNaN(far(p)) ? 'not computed' : distanceWords(matrixNow(), far(p), 5))) },
    ...(floors || pairFloors ? [{ title: 'Noise floor', ...number(floor, (p) => dash(floor(p), floorWords)) }] : []),
    ...(intervals.values.data ? [{ title: 'Corrected for noise', ...number((p) => interval(p)?.[0] ?? NaN, (p) => intervalWords(matrixNow(), interval(p))) }] : []),
    ...(exact || !proven ? [] : [{ title: 'Proven lower bound of the minimum', ...number(bound, (p) => (Number.isNaN(bound(p)) ? '\u2013' : boundWords(matrixNow(), bound(p), far(p)))) }, { title: 'Gap', ...number(gap, (p) => gapWords(gap(p))) }]),
    ...(starts?.some((count) => count > 1) ? [{ title: 'Starts that agree', ...number(share, (p) => dash(share(p), (v) => `${Math.round(100 * v)} %`)) }] : []),
    ...(converged ? [{ title: 'Converged', ...number(solved, (p) => dash(solved(p), (yes) => (yes ? 'yes' : 'no'))) }] : []),
  ];
}

const intervalWords = (matrix, found) => (found ? `${digits(found[0], 3)} (${digits(found[1], 3)} to ${digits(found[2], 3)})` : '\u2013');

function conditionColumns() {
  const of = (row) => (m) => cohortNow()?.trials?.[row][m] ?? NaN;
  const number = (title, value) => ({ title, number: true, key: value, show: (m) => (Number.isNaN(value(m)) ? '\u2013' : String(value(m))) });
  return [
    { title: 'Condition', text: true, key: (m) => cohortNow().conditions[m], show: (m) => tidy(cohortNow().conditions[m]) },
    number('Fewest trials of a network', of(0)),
    number('Median', of(1)),
    number('Most', of(2)),
  ];
}

/** Whether the name or the metadata of a network contain all words. */
const fits = (k, words) => words.every((word) => LOWER[k].includes(word) || DATA.columns.some((column) => cell(column, k).toLowerCase().includes(word)));

/** Mark what was searched for in the figures, and list it in the table of networks. */
function find(text) {
  for (const id of ['find', 'networks-search']) if ($(id).value !== text) $(id).value = text;
  const words = text.toLowerCase().split(/\s+/).filter(Boolean);
  const found = words.length ? new Set(LABELS.map((_, k) => k).filter((k) => fits(k, words))) : null;
  tables.networks.filter = text;
  tables.networks.page = 0;
  tables.networks.arrange();
  change({ found });
  if (found) say(`${plural(found.size, 'network')} found.`);
}

const tables = {};
function makeTables() {
  tables.networks = new Table('networks', networkColumns, {
    rows: () => K,
    matches: (k, words) => !isHidden(k) && fits(k, words),
    picked: (k) => state.selected.includes(k),
    pick: (k) => toggle(k),
    empty: () => 'No matching networks.',
  });
  tables.conditions = new Table('conditions', conditionColumns, {
    rows: () => cohortNow()?.conditions.length ?? 0,
    matches: (m, words) => words.every((word) => cohortNow().conditions[m].toLowerCase().includes(word)),
    picked: () => false,
    pick: null,
    empty: () => 'No matching conditions.',
  });
  const only = $('pairs-selected');
  tables.pairs = new Table('pairs', pairColumns, {
    rows: () => ends(matrixNow())[0].length,
    matches: (p, words) => {
      const [i, j] = [ends(matrixNow())[0][p], ends(matrixNow())[1][p]];
      if (only.checked && !state.selected.includes(i) && !state.selected.includes(j)) return false;
      return words.every((word) => LOWER[i].includes(word) || LOWER[j].includes(word));
    },
    picked: (p) => {
      const pair = pairNow();
      return Boolean(pair) && rowOf(matrixNow(), ...pair) === p;
    },
    pick: (p) => choosePair(ends(matrixNow())[0][p], ends(matrixNow())[1][p]),
    empty: () => (only.checked && !state.selected.length ? 'Nothing is selected.' : 'No matching pairs.'),
  });
  for (const id of ['find', 'networks-search']) $(id).addEventListener('input', (event) => find(event.target.value));
  tables.pairs.sort = 2;
  only.addEventListener('change', () => tables.pairs.arrange());
}
