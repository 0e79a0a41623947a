// Helper functions of every page: decoding, words, colours and the theme.

performance.mark('start');
const $ = (id) => document.getElementById(id);
const DATA = JSON.parse($('data').textContent);
const ARRAYS = { Float64Array, Float32Array, Int32Array, Int16Array, Uint16Array, Uint8Array };

/** Long arrays by number: where two are equal, the second only names the number of the first. */
const numbered = [];
(function number(value) {
  if (value === null || typeof value !== 'object') return;
  if ('number' in value) numbered[value.number] = value;
  for (const one of Array.isArray(value) ? value : Object.values(value)) number(one);
})(DATA);

/** Decode an array from base64 text. */
function unpack(packed) {
  if ('same' in packed) return unpack(numbered[packed.same]);
  if (packed.array) return packed.array;
  const text = atob(packed.data);
  const bytes = new Uint8Array(text.length);
  for (let k = 0; k < text.length; k++) bytes[k] = text.charCodeAt(k);
  packed.array = new ARRAYS[packed.type](bytes.buffer);
  return packed.array;
}

// Invisible characters, and those that change the direction of text, could make one label look like
// another. They are shown as a box.
const UNSEEN = /[\u0000-\u001f\u007f-\u009f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]/g;
const tidy = (text, most = 60) => {
  const seen = String(text).slice(0, 4 * most).replace(UNSEEN, '\u25a1');
  return seen.length > most ? `${seen.slice(0, most - 1)}\u2026` : seen;
};

/** A shortened text that keeps both ends, because names often differ at the end. */
const middle = (whole, most) => {
  const half = Math.floor((most - 1) / 2);
  return whole.length > most ? `${whole.slice(0, half)}\u2026${whole.slice(-half)}` : whole;
};

/** A number with a few significant digits. */
function digits(value, count = 4) {
  if (value === null || value === undefined || Number.isNaN(value)) return 'unknown';
  if (value === 0) return '0';
  const size = Math.abs(value);
  const small = size < 1e-4 || size >= 1e6;
  const text = small ? value.toExponential(Math.max(count - 2, 0)) : size >= 10 ** (count - 1) ? value.toFixed(0) : value.toPrecision(count);
  return text.replace('-', '\u2212');
}

const plural = (count, noun) => `${count.toLocaleString('en').replaceAll(',', '\u202f')} ${noun}${count === 1 ? '' : 's'}`;

function element(tag, text, attributes = {}) {
  const made = document.createElement(tag);
  if (text !== undefined && text !== null) made.textContent = text;
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  return made;
}

let speaking;
function say(words) {
  clearTimeout(speaking);
  speaking = setTimeout(() => ($('live').textContent = words), 120);
}

const ramp = (hex) => Array.from({ length: 256 }, (_, k) => `#${hex.slice(6 * k, 6 * k + 6)}`);
const HEAT = ramp(DATA.colours.heat);

const theme = () => {
  const style = getComputedStyle(document.documentElement);
  const get = (key) => style.getPropertyValue(`--${key}`).trim();
  return { dark: style.colorScheme === 'dark', ink: get('ink'), soft: get('soft'), line: get('line'), back: get('card'), accent: get('accent'), first: get('first'), second: get('second'), font: 'system-ui, sans-serif' };
};
const PAPER = { dark: false, ink: '#1c2430', soft: '#5a6675', line: '#d5dbe3', back: '#ffffff', accent: '#c2410c', first: '#0072b2', second: '#d55e00', font: 'Helvetica, Arial, sans-serif' };
const calm = () => matchMedia('(prefers-reduced-motion: reduce)').matches;

/** The button that changes the theme; `redraw` draws all figures again. */
function makeTheme(redraw) {
  const themes = ['auto', 'light', 'dark'];
  $('theme').addEventListener('click', (event) => {
    const next = themes[(themes.indexOf(document.documentElement.dataset.theme ?? 'auto') + 1) % 3];
    if (next === 'auto') delete document.documentElement.dataset.theme;
    else document.documentElement.dataset.theme = next;
    event.currentTarget.textContent = `Theme: ${next}`;
    redraw();
  });
}

/** Print on white, whatever the theme; `show` draws all figures again, before and after. */
function onPaper(show) {
  const root = document.documentElement;
  let kept = '';
  addEventListener('beforeprint', () => {
    kept = root.dataset.theme ?? '';
    root.dataset.theme = 'light';
    show(true);
  });
  addEventListener('afterprint', () => {
    if (kept) root.dataset.theme = kept;
    else delete root.dataset.theme;
    show(false);
  });
}
