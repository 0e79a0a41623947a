// A pair of networks before and after alignment, with its distance, lower bound and parts.

const picture = { canvas: $('pair-picture') };

/** The drawings of the pairs of a matrix, decoded when they are first needed. */
function drawings(matrix) {
  const { pairs } = matrix;
  if (!pairs.ready) {
    for (const key of ['index', 'own', 'drawn', 'unit', 'parts']) pairs[key] = unpack(pairs[key]);
    pairs.at = new Map();
    for (let p = 0; p < pairs.index.length / 2; p++) pairs.at.set(pairs.index[2 * p] * K + pairs.index[2 * p + 1], p);
    pairs.ready = true;
  }
  return pairs;
}

/** The drawing of a pair: moments of x, and of y before and after alignment, five numbers per condition. */
function drawing(matrix, i, j) {
  const pairs = drawings(matrix);
  const [x, y] = i < j ? [i, j] : [j, i];
  const p = pairs.at.get(x * K + y);
  if (p === undefined) return null;
  const width = 5 * pairs.conditions.length;
  const own = pairs.own.subarray(x * width, (x + 1) * width);
  const scaled = Float64Array.from(pairs.drawn.subarray(2 * p * width, 2 * (p + 1) * width), (v) => v * pairs.unit[p]);
  return { x, y, own, before: scaled.subarray(0, width), after: scaled.subarray(width), parts: pairs.parts.subarray(4 * p, 4 * p + 4) };
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

function drawPair(pen, width, t, shown) {
  const narrow = width < 520;
  const side = narrow ? width : (width - 16) / 2;
  const rows = narrow ? 2 : 1;
  const size = ellipseSize(shown);
  const box = bounds([shown.own, shown.before, shown.after], size);
  const scale = (side - 28) / (Math.max(box[1] - box[0], box[3] - box[2]) || 1);
  ['before', 'after'].forEach((when, k) => {
    const left = narrow ? 0 : k * (side + 16);
    const top = narrow ? k * (side + 26) : 0;
    pen.text(left + 2, top + 9, when === 'before' ? 'Before alignment' : 'After alignment', { size: 13, weight: 600, fill: t.ink, font: t.font });
    pen.rect(left + 0.5, top + 20.5, side - 1, side - 1, { stroke: t.line });
    const to = (x, y) => [left + side / 2 + (x - (box[0] + box[1]) / 2) * scale, top + 20 + side / 2 - (y - (box[2] + box[3]) / 2) * scale];
    drawMoments(pen, shown.own, shown[when], to, scale, size, t);
  });
  const y = rows * (side + 26) + 8;
  marker(pen, 8, y, 'circle', 5, { fill: t.first });
  pen.text(18, y, brief(shown.x, 24), { size: 12, fill: t.ink, font: t.font });
  const next = 34 + textWidth(brief(shown.x, 24), 12, t.font);
  marker(pen, next, y, 'square', 5, { fill: t.second });
  pen.text(next + 10, y, brief(shown.y, 24), { size: 12, fill: t.ink, font: t.font });
}
const pairHeight = (width) => (width < 520 ? 2 * (width + 26) : (width - 16) / 2 + 26) + 22;

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
  nameConditions(pen, first, to, t);
}

/** Write the names of conditions beside the means of the first network, as far as there is room. */
function nameConditions(pen, rows, to, t) {
  const taken = [];
  matrixNow().pairs.conditions.forEach((condition, m) => {
    const text = tidy(condition, 18);
    const [x, y] = to(rows[5 * m], rows[5 * m + 1]);
    const box = [x + 6, y - 16, textWidth(text, 10.5, t.font), 12];
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
  if (row >= 0 && matrix.bounds && !Number.isNaN(far)) {
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
  if (shown && !Number.isNaN(shown.parts[2]) && !matrix.coincide) lines.push(...partLines(shown.parts));
  if (shown && Math.abs(shown.parts[0] - far) > 1e-4 * Math.abs(far) + 1e-6) lines.push(['Distance of the alignment shown', digits(shown.parts[0], 5)]);
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
  if (found) lines.push(['Corrected for noise', `${digits(found[0])} (${Math.round(100 * matrix.intervals.level)} % interval ${digits(found[1])} to ${digits(found[2])})`]);
  const plain = matrix.plug_in ? matrix.plug_in[row] ?? NaN : far;
  if (matrix.plug_in && !Number.isNaN(plain)) lines.push(['Before the correction', digits(plain, 5)]);
  const floor = floorOf(matrix, i, j);
  if (Number.isNaN(floor) || Number.isNaN(plain)) return lines;
  const share = floor > 0 && plain > 0 ? ` (${Math.round((100 * floor) / plain)} % of the distance${matrix.plug_in ? ' before the correction' : ''})` : '';
  return [...lines, ['Noise floor', digits(floor) + share]];
}

/** The parts of the squared distance that means and covariances make; they add up to it. */
function partLines([far, , means, covariances]) {
  const share = (part) => `${beside(part, far * far, 4)} (${Math.round((100 * part) / (means + covariances || 1))} %)`;
  return [['Squared distance', digits(far * far)], ['\u2003of which means', share(means)], ['\u2003of which covariances', share(covariances)]];
}

function showPair() {
  const pair = pairNow();
  $('first').value = pair ? pair[0] : '';
  $('second').value = pair ? pair[1] : '';
  const matrix = matrixNow();
  const shown = pair && drawing(matrix, ...pair);
  $('pair-words').textContent = pair ? `${pairWords(...pair)}.` : 'Choose two networks to compare them.';
  const body = $('pair-numbers');
  body.replaceChildren();
  if (pair) {
    for (const [key, value] of numbersOf(...pair, shown)) {
      const line = body.appendChild(element('tr'));
      line.append(element('th', key, { scope: 'row' }), element('td', value, { dir: 'auto' }));
    }
  }
  $('pair-note').textContent = pairNote(pair, shown, matrix);
  picture.shown = shown;
  picture.canvas.hidden = !shown;
  document.querySelector('.pair-grid').classList.toggle('flat', !shown);
  document.querySelector('[data-saves="pair"]').hidden = !shown;
  if (shown) {
    const width = picture.canvas.parentElement.clientWidth;
    picture.canvas.style.height = `${pairHeight(width)}px`;
    drawPair(new CanvasPen(picture.canvas, width, pairHeight(width), devicePixelRatio || 1), width, theme(), shown);
  }
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
