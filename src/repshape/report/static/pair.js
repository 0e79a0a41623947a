// A pair of networks before and after alignment, with its distance, lower bound and parts.

const picture = { canvas: $('pair-picture'), share: 1, from: 0 };
const TURN = 900; // duration of the animation from before to after alignment, in milliseconds

/** Numbers of 16 bits with their units, one for each of as many equal parts. */
function multiples({ units, steps }) {
  const [scale, found] = [unpack(units), Float64Array.from(unpack(steps))];
  const size = found.length / scale.length;
  return found.map((step, at) => step * scale[Math.floor(at / size)]);
}
const squares = (roots) => roots.map((root) => root * Math.abs(root));

/** The moments and planes of the pairs of a matrix, decoded when they are first needed. */
function drawings(matrix) {
  const { pairs } = matrix;
  if (pairs.ready || !pairs.own) return pairs;
  const index = unpack(pairs.index);
  pairs.at = new Map();
  for (let p = 0; p < index.length / 2; p++) pairs.at.set(index[2 * p] * K + index[2 * p + 1], p);
  const firsts = [...new Set(index.filter((_, at) => at % 2 === 0))].sort((a, b) => a - b);
  pairs.row = new Map(firsts.map((k, row) => [k, pairs.by_pair ? row : k]));
  for (const key of ['own', 'means']) pairs[key] = multiples(pairs[key]);
  for (const key of ['spreads', 'covariances']) pairs[key] = squares(multiples(pairs[key]));
  for (const key of ['centres', 'far', 'shares']) pairs[key] = pairs[key] && unpack(pairs[key]);
  for (const planes of [pairs.before, pairs.after]) {
    planes.rows = multiples(planes.directions);
    planes.ends = unpack(planes.places);
  }
  pairs.ready = true;
  return pairs;
}

/** A plane: its directions, then the place of the origin. */
function planeOf(pairs, planes, k) {
  const size = 2 * pairs.width;
  const found = new Float64Array(size + 2);
  found.set(planes.rows.subarray(k * size, (k + 1) * size));
  found.set([planes.ends[2 * k] * pairs.unit, planes.ends[2 * k + 1] * pairs.unit], size);
  return found;
}

/** A network in its own components: five numbers for each condition, the mean and xx, xy and yy of the covariance. */
function ownOf(pairs, k) {
  const C = pairs.conditions.length;
  const found = new Float64Array(5 * C);
  for (let c = 0; c < C; c++) {
    found.set(pairs.own.subarray(2 * (k * C + c), 2 * (k * C + c) + 2), 5 * c);
    found.set(pairs.spreads.subarray(3 * (k * C + c), 3 * (k * C + c) + 3), 5 * c + 2);
  }
  return found;
}

/** Moments on a plane, as above; of diagonal covariances only the diagonal is kept. */
function projected(pairs, k, plane) {
  const [R, C] = [pairs.width, pairs.conditions.length];
  const count = pairs.diagonal ? R : (R * (R + 1)) / 2;
  const centre = pairs.centres.subarray(k * R, (k + 1) * R);
  const found = new Float64Array(5 * C);
  for (let c = 0; c < C; c++) {
    const mean = pairs.means.subarray((k * C + c) * R, (k * C + c + 1) * R);
    const covariance = pairs.covariances.subarray((k * C + c) * count, (k * C + c + 1) * count);
    const sums = [plane[2 * R], plane[2 * R + 1], 0, 0, 0];
    for (let i = 0, e = 0; i < R; i++) {
      const [a, b] = [plane[2 * i], plane[2 * i + 1]];
      const m = mean[i] + centre[i] * pairs.unit;
      sums[0] += m * a;
      sums[1] += m * b;
      for (let j = i; j < (pairs.diagonal ? i + 1 : R); j++, e++) {
        const [s, u, v] = [covariance[e], plane[2 * j], plane[2 * j + 1]];
        const twice = i === j ? 1 : 2;
        sums[2] += twice * s * a * u;
        sums[3] += i === j ? s * a * v : s * (a * v + b * u);
        sums[4] += twice * s * b * v;
      }
    }
    found.set(sums, 5 * c);
  }
  return found;
}

/** Square root of a symmetric 2 x 2 matrix [xx, xy, yy], or null if it is singular. */
function root([xx, xy, yy]) {
  const s = Math.sqrt(Math.max(xx * yy - xy * xy, 0));
  const t = Math.sqrt(xx + yy + 2 * s);
  return s > 1e-9 * (xx + yy) ? [(xx + s) / t, xy / t, (yy + s) / t] : null;
}
const gram = (plane, R) => {
  const sums = [0, 0, 0];
  for (let i = 0; i < R; i++) {
    const [a, b] = [plane[2 * i], plane[2 * i + 1]];
    sums[0] += a * a;
    sums[1] += a * b;
    sums[2] += b * b;
  }
  return sums;
};

/** A plane between two others, which turns and does not shrink on the way. */
function between(before, after, share, R) {
  const mix = Float64Array.from(before, (v, e) => (1 - share) * v + share * after[e]);
  if (share <= 0 || share >= 1) return mix;
  const [first, last] = [gram(before, R), gram(after, R)];
  const target = root(first.map((v, e) => (1 - share) * v + share * last[e]));
  const present = root(gram(mix, R));
  if (!target || !present) return mix;
  const [p, q, r] = present;
  const det = p * r - q * q;
  const [u, v, w] = [r / det, -q / det, p / det];
  // present^-1 target, applied to the columns
  const [a, b, c, d] = [u * target[0] + v * target[1], u * target[1] + v * target[2], v * target[0] + w * target[1], v * target[1] + w * target[2]];
  for (let i = 0; i < R; i++) {
    const [x, y] = [mix[2 * i], mix[2 * i + 1]];
    mix[2 * i] = x * a + y * c;
    mix[2 * i + 1] = x * b + y * d;
  }
  return mix;
}

/** The drawing of a pair: x, and y before and after alignment and in between. */
function drawing(matrix, i, j, share = 1) {
  const pairs = drawings(matrix);
  const [x, y] = i < j ? [i, j] : [j, i];
  const p = pairs.at?.get(x * K + y);
  if (p === undefined) return null;
  const before = planeOf(pairs, pairs.before, pairs.before.by_first ? x : p);
  const after = planeOf(pairs, pairs.after, p);
  const body = pairs.by_pair ? p : y;
  const far = pairs.far[p] * pairs.longest;
  const means = far * far * (pairs.shares ? pairs.shares[p] : NaN);
  return {
    x,
    y,
    own: ownOf(pairs, pairs.row.get(x)),
    before: projected(pairs, body, before),
    after: projected(pairs, body, after),
    now: projected(pairs, body, between(before, after, share, pairs.width)),
    parts: [far, means, far * far - means],
  };
}

/** Semi-axes and angle of the ellipse of one standard deviation. */
function ellipseOf(xx, xy, yy) {
  const [middle, half] = [(xx + yy) / 2, Math.hypot((xx - yy) / 2, xy)];
  return { long: Math.sqrt(Math.max(middle + half, 0)), short: Math.sqrt(Math.max(middle - half, 0)), angle: 0.5 * Math.atan2(2 * xy, xx - yy) };
}

/** Size of the ellipses: as chosen, or such that at least half of them do not hide the means. */
function ellipseSize(shown) {
  const chosen = $('ellipses').value;
  if (chosen !== 'auto') return Number(chosen);
  const { own } = shown;
  const count = own.length / 5;
  const centre = [0, 1].map((axis) => own.reduce((sum, v, k) => sum + (k % 5 === axis ? v : 0), 0) / count);
  let spread = 0;
  const longest = [];
  for (let k = 0; k < own.length; k += 5) {
    spread += (own[k] - centre[0]) ** 2 + (own[k + 1] - centre[1]) ** 2;
    longest.push(ellipseOf(own[k + 2], own[k + 3], own[k + 4]).long);
  }
  const room = Math.sqrt(spread / count);
  const typical = longest.sort((a, b) => a - b)[Math.floor(count / 2)];
  return [1, 0.5].find((size) => size * typical <= room) ?? 0.25;
}
const SIZES = { 1: 'one standard deviation', 0.5: 'half a standard deviation', 0.25: 'a quarter of a standard deviation' };

function bounds(sets, size) {
  const box = [Infinity, -Infinity, Infinity, -Infinity];
  for (const rows of sets) {
    for (let k = 0; k < rows.length; k += 5) {
      const [x, y, xx, , yy] = rows.subarray(k, k + 5);
      const [u, v] = [size * Math.sqrt(Math.max(xx, 0)), size * Math.sqrt(Math.max(yy, 0))];
      box[0] = Math.min(box[0], x - u);
      box[1] = Math.max(box[1], x + u);
      box[2] = Math.min(box[2], y - v);
      box[3] = Math.max(box[3], y + v);
    }
  }
  return box;
}

/** Draw one panel for each of `panels`: 'before', 'after', or 'now' for the place of the slider. */
function drawPair(pen, width, t, shown, panels = ['before', 'after']) {
  const side = pairSide(width, panels.length);
  const size = ellipseSize(shown);
  const box = bounds([shown.own, shown.before, shown.after], size);
  const scale = (side - 28) / (Math.max(box[1] - box[0], box[3] - box[2]) || 1);
  panels.forEach((when, k) => {
    const left = k * (side + 16);
    const top = panels.length > 1 ? 20 : 0;
    if (top) pen.text(left + 2, 9, when === 'before' ? 'Before alignment' : 'After alignment', { size: 13, weight: 600, fill: t.ink, font: t.font });
    pen.rect(left + 0.5, top + 0.5, side - 1, side - 1, { stroke: t.line });
    const to = (x, y) => [left + side / 2 + (x - (box[0] + box[1]) / 2) * scale, top + side / 2 - (y - (box[2] + box[3]) / 2) * scale];
    drawMoments(pen, shown.own, shown[when], to, scale, size, t);
    nameConditions(pen, shown.own, to, left + side, t);
  });
  const y = pairHeight(width, panels.length) - 12;
  const wide = (room) => 54 + textWidth(brief(shown.x, room) + brief(shown.y, room), 12, t.font);
  let room = 24;
  while (room > 6 && wide(room) > width) room--;
  marker(pen, 8, y, 'circle', 5, { fill: t.first });
  pen.text(18, y, brief(shown.x, room), { size: 12, fill: t.ink, font: t.font });
  const next = 34 + textWidth(brief(shown.x, room), 12, t.font);
  marker(pen, next, y, 'square', 5, { fill: t.second });
  pen.text(next + 10, y, brief(shown.y, room), { size: 12, fill: t.ink, font: t.font });
}
const pairSide = (width, panels) => (panels > 1 ? (width - 16) / 2 : width);
const pairHeight = (width, panels = 2) => pairSide(width, panels) + (panels > 1 ? 48 : 24);

function drawMoments(pen, first, second, to, scale, size, t) {
  const many = first.length > 30;
  for (let k = 0; k < first.length; k += 5) {
    pen.path([to(first[k], first[k + 1]), to(second[k], second[k + 1])], { stroke: t.soft, width: 0.8, dash: [2, 2] });
  }
  for (const [rows, colour, shape] of [[first, t.first, 'circle'], [second, t.second, 'square']]) {
    for (let k = 0; size > 0 && k < rows.length; k += 5) {
      const [x, y, xx, xy, yy] = rows.subarray(k, k + 5);
      const { long, short, angle } = ellipseOf(xx, xy, yy);
      pen.ellipse(...to(x, y), size * long * scale, size * short * scale, -angle, { fill: colour, opacity: many ? 0.04 : 0.1, stroke: colour, width: many ? 1 : 1.3, dash: shape === 'square' ? [5, 3] : [] });
    }
    for (let k = 0; k < rows.length; k += 5) marker(pen, ...to(rows[k], rows[k + 1]), shape, 3.6, { fill: colour, stroke: t.back, width: 0.8 });
  }
}

/** Write the names of conditions beside the means of the first network, as far as there is room. */
function nameConditions(pen, rows, to, edge, t) {
  const taken = [];
  matrixNow().pairs.conditions.forEach((condition, m) => {
    const text = middle(tidy(condition, 200), 17);
    const [x, y] = to(rows[5 * m], rows[5 * m + 1]);
    const wide = textWidth(text, 10.5, t.font);
    const box = [x + 6 + wide < edge ? x + 6 : x - 6 - wide, y - 16, wide, 12];
    const clear = taken.every(([u, v, w, h]) => box[0] > u + w || box[0] + box[2] < u || box[1] > v + h || box[1] + box[3] < v);
    if (!clear) return;
    taken.push(box);
    pen.text(box[0], y - 10, text, { size: 10.5, fill: t.ink, font: t.font });
  });
}

function numbersOf(i, j, shown) {
  const matrix = matrixNow();
  const row = rowOf(matrix, i, j);
  const far = distance(matrix, i, j);
  const lines = [['Distance', roughly(matrix, i, j) + distanceWords(matrix, far, 5)], ...noiseLines(matrix, i, j, far)];
  if (row >= 0 && isExact(matrix, row)) lines.push(['Search', 'exact: all alignments were searched']);
  else if (row >= 0 && matrix.bounds && !Number.isNaN(far)) {
    const known = matrix.bounds[row] > VANISHES * far || vanishes(matrix, far) || matrix.coincide;
    lines.push(['Proven lower bound of the minimum', `${known ? boundWords(matrix, matrix.bounds[row], far) : 'none above 0'} (not a confidence limit)`]);
    if (known) lines.push(['Gap between distance and bound', gapWords(gapOf(matrix, far, matrix.bounds[row]))]);
  }
  if (row >= 0 && matrix.converged && !Number.isNaN(far)) lines.push(['Solver', matrix.converged[row] ? 'converged' : 'stopped early']);
  if (row >= 0 && matrix.starts?.[row] > 1) {
    const found = matrix.agreeing[row] ? matrix.agreeing[row] : 'none';
    const how = matrix.agreeing[row] ? '' : ': composed from the alignments of other pairs';
    lines.push(['Starts that found this optimum', `${found} of ${matrix.starts[row]}${how}`]);
  }
  const plain = matrix.plug_in?.[row] ?? far;
  const other = shown && Math.abs(shown.parts[0] - plain) > 1e-4 * Math.abs(plain) + 1e-6 * matrix.high;
  if (other) lines.push(['Distance of the alignment shown', digits(shown.parts[0], 5)]);
  const which = other ? ' of the alignment shown' : matrix.plug_in ? ' before the correction' : '';
  if (shown && !Number.isNaN(shown.parts[1]) && !matrix.coincide) lines.push(...partLines(shown.parts, which));
  const cohort = cohortNow();
  if (cohort) lines.push(['Neurons', `${cohort.neurons[i]} | ${cohort.neurons[j]}`]);
  if (cohort?.trials) lines.push(['Trials of a condition', [i, j].map((k) => (cohort.fewest[k] ? spanWords(cohort.fewest[k], cohort.most[k]) : 'none')).join(' | ')]);
  for (const column of DATA.columns.slice(0, 8)) lines.push([tidy(column.name, 30), `${cell(column, i, 30)} | ${cell(column, j, 30)}`]);
  return lines;
}

/** The noise floor of a pair, and its distance corrected for noise. */
function noiseLines(matrix, i, j, far) {
  const lines = [];
  const found = intervalOf(matrix, i, j);
  const row = rowOf(matrix, i, j);
  const ends = found && `${digits(found[1])} to ${digits(found[2])}`;
  if (found && matrix.plug_in) lines.push([`${levelWords(matrix)}, corrected for noise`, ends]);
  else if (found) lines.push(['Corrected for noise', `${digits(found[0])} (${levelWords(matrix)} ${ends})`]);
  const plain = matrix.plug_in ? matrix.plug_in[row] ?? NaN : far;
  if (matrix.plug_in && !Number.isNaN(plain)) lines.push(['Before the correction', digits(plain, 5)]);
  const floor = floorOf(matrix, i, j);
  if (Number.isNaN(floor) || Number.isNaN(plain)) return lines;
  const share = floor > 0 && plain > 0 ? ` (${Math.round((100 * floor) / plain)} % of the distance${matrix.plug_in ? ' before the correction' : ''})` : '';
  return [...lines, ['Noise floor', floorWords(floor, 4) + share]];
}

/** The parts of the squared distance that means and covariances make; they add up to it. */
function partLines([far, means, covariances], which) {
  const share = (part) => `${beside(part, far * far, 4)} (${Math.round((100 * part) / (means + covariances || 1))} %)`;
  return [[`Squared distance${which}`, digits(far * far)], ['\u2003of which means', share(means)], ['\u2003of which covariances', share(covariances)]];
}

/** The pair that the drawer shows, and why: the selected one, a network and its neighbour, or a telling one. */
function shownPair() {
  const matrix = matrixNow();
  const pair = pairNow();
  if (pair) return { pair, why: '' };
  if (state.selected.length) {
    const [k] = state.selected;
    const other = nearest(matrix).who[k];
    return other < 0 ? { pair: null, why: '' } : { pair: [k, other], why: 'A network and its nearest neighbour' };
  }
  const { telling } = matrix;
  return telling ? { pair: [telling.first, telling.second], why: telling.why } : { pair: null, why: '' };
}

function showPair() {
  const { pair, why } = shownPair();
  $('first').value = pair ? pair[0] : '';
  $('second').value = pair ? pair[1] : '';
  const matrix = matrixNow();
  const shown = pair && drawing(matrix, ...pair, picture.share);
  $('pair-why').textContent = why;
  $('pair-words').textContent = pair ? `${pairWords(...pair)}.` : 'Choose two networks to compare them.';
  const body = $('pair-numbers');
  const lines = pair ? numbersOf(...pair, shown) : [];
  body.replaceChildren(
    ...lines.map(([key, value]) => {
      const line = element('tr');
      line.append(element('th', key, { scope: 'row' }), element('td', value, { dir: 'auto' }));
      return line;
    }),
  );
  $('pair-note').textContent = pairNote(pair, shown, matrix);
  picture.shown = shown;
  $('pair-figure').hidden = !shown;
  $('pair-options').hidden = !shown;
  if (shown) {
    const width = picture.canvas.parentElement.clientWidth;
    if (width <= 0) return; // the drawer is closed
    const height = pairHeight(width, 1);
    picture.canvas.style.height = `${height}px`;
    drawPair(new CanvasPen(picture.canvas, width, height, devicePixelRatio || 1), width, theme(), shown, ['now']);
  }
  if (picture.from) turnOn();
}

/** Turn the second network from its own orientation into the alignment, step by step. */
function turnOn() {
  const past = Math.min(1, (performance.now() - picture.from) / TURN);
  picture.share = past * past * (3 - 2 * past);
  $('slide').value = Math.round(100 * picture.share);
  if (past < 1) schedule('pair');
  else picture.from = 0;
}
function turnFromStart() {
  picture.share = 1;
  picture.from = calm() ? 0 : performance.now();
  if (picture.from) picture.share = 0;
  $('slide').value = 100 * picture.share;
}

/** On a small screen, the drawer is a sheet at the bottom that opens when a pair is chosen. */
function openDrawer(open) {
  $('pair').classList.toggle('open', open);
  $('drawer-toggle').setAttribute('aria-expanded', String(open));
  $('drawer-toggle').textContent = open ? 'Hide' : 'Show';
  schedule('pair');
}

function pairNote(pair, shown, matrix) {
  const { note } = matrix.pairs;
  if (!pair) return note;
  if (!shown) return matrix.pairs.conditions.length ? `The alignment of this pair is not included in this page. ${note}` : note;
  const size = ellipseSize(shown);
  const named = cohortNow()?.named ? '' : ' (numbered from 0)';
  const what = `Each mark is the mean response to a condition${named}${size ? `, and each ellipse ${SIZES[size]} of the noise` : ''}, in the first two principal components of ${name(shown.x)}.`;
  return `${what} ${note} ${matrix.intervals.note}`.trim();
}

function listenPair() {
  $('slide').addEventListener('input', (event) => {
    picture.from = 0;
    picture.share = Number(event.target.value) / 100;
    schedule('pair');
  });
  $('drawer-toggle').addEventListener('click', () => openDrawer(!$('pair').classList.contains('open')));
  $('ellipses').addEventListener('change', () => schedule('pair'));
  for (const id of ['first', 'second']) {
    const select = $(id);
    select.append(element('option', 'choose a network', { value: '' }));
    LABELS.forEach((_, k) => select.append(element('option', name(k, 60), { value: k })));
    select.addEventListener('change', () => {
      const [i, j] = ['first', 'second'].map((one) => $(one).value);
      if (i !== '' && j !== '') choosePair(Number(i), Number(j));
    });
  }
}
