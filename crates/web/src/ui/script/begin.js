// What a page cannot do by itself: take dropped files and show how they fare, renew its
// live parts, answer keys. All text goes in as text, never as markup.
'use strict';

const $ = (selector, from = document) => from.querySelector(selector);
const $$ = (selector, from = document) => [...from.querySelectorAll(selector)];

// ---- times

const relative = new Intl.RelativeTimeFormat('en', { numeric: 'auto' });
const steps = [[60, 'second', 1], [3600, 'minute', 60], [86400, 'hour', 3600], [30 * 86400, 'day', 86400]];

function tellTimes(root = document) {
  for (const time of $$('time[datetime]', root)) {
    const then = new Date(time.dateTime);
    const ago = (Date.now() - then) / 1000;
    const step = steps.find(([limit]) => Math.abs(ago) < limit);
    time.title = then.toLocaleString();
    time.textContent = step
      ? relative.format(-Math.round(ago / step[2]), step[1])
      : then.toLocaleDateString();
  }
}

// ---- keys, questions, filters

document.addEventListener('keydown', (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.target.matches?.('input, select, textarea')) return;
  const wanted = $$('[data-key]').find((element) => element.dataset.key === event.key);
  if (!wanted) return;
  event.preventDefault();
  if (wanted.matches('input')) wanted.focus(); else wanted.click();
});

document.addEventListener('submit', (event) => {
  const asks = event.target.dataset.confirm;
  if (asks && !confirm(asks)) event.preventDefault();
});

document.addEventListener('change', (event) => {
  if (event.target.matches('[data-filter] select, .searchbar select')) event.target.form.requestSubmit();
});

document.addEventListener('click', (event) => {
  for (const open of $$('details.kbs[open], details.pop[open]')) {
    if (!open.contains(event.target)) open.open = false;
  }
});
