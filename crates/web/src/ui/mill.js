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

// ---- parts that renew themselves

async function fetched(url) {
  const response = await fetch(url, { headers: { accept: 'text/html' } });
  if (response.redirected && new URL(response.url).pathname === '/sign-in') {
    location.href = '/sign-in';
  }
  return new DOMParser().parseFromString(await response.text(), 'text/html');
}

function replaceParts(fresh, selector) {
  for (const old of $$(selector)) {
    const now = fresh.getElementById(old.id);
    // A part somebody is typing in, or has opened, is left alone.
    if (!now || old.contains(document.activeElement) && document.activeElement.matches('input, select')) continue;
    if ($('details[open]', old)) continue;
    old.replaceWith(document.adoptNode(now));
  }
  tellTimes();
}

async function renew() {
  if (document.hidden || !$('[data-live]')) return;
  try {
    replaceParts(await fetched(location.href), '[data-live]');
  } catch { /* the server is away; the next turn asks again */ }
}

// ---- moving within the inspector without losing the place

async function swap(href, push) {
  const fresh = await fetched(href);
  const scroll = $('.paper')?.scrollTop ?? 0;
  replaceParts(fresh, '[data-swap]');
  document.title = fresh.title;
  if (push) history.pushState(null, '', href);
  const paper = $('.paper');
  if (paper) paper.scrollTop = scroll;
  zoom(0);
  showChosen();
}

function showChosen() {
  const chosen = $('.sheet .chosen rect') ?? $('.reading .chosen');
  if (!chosen) return;
  const box = chosen.getBoundingClientRect();
  if (box.top < 80 || box.bottom > innerHeight - 40) chosen.scrollIntoView({ block: 'center' });
}

let scale = 0;
function zoom(by) {
  scale = Math.max(-1, Math.min(3, scale + by));
  for (const sheet of $$('.sheet')) sheet.dataset.scale = scale;
}

document.addEventListener('click', (event) => {
  const button = event.target.closest('[data-zoom]');
  if (button) zoom(Number(button.dataset.zoom));
  const link = event.target.closest('[data-swap] a');
  const plain = !event.ctrlKey && !event.metaKey && !event.shiftKey && event.button === 0;
  // A link inside an SVG has an animated href.
  const href = link?.getAttribute('href');
  if (href?.startsWith('?') && plain) {
    event.preventDefault();
    swap(href, true).catch(() => { location.href = href; });
  }
  for (const open of $$('details.kbs[open], details.pop[open]')) {
    if (!open.contains(event.target)) open.open = false;
  }
});
addEventListener('popstate', () => { if ($('[data-swap]')) swap(location.href, false); });

// ---- keys

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
  if (event.target.matches('[data-filter] select')) event.target.form.requestSubmit();
  if (event.target.matches('[data-files]')) {
    take([...event.target.files]);
    event.target.value = '';
  }
});

// ---- uploads

const AT_ONCE = 3;
const waiting = [];
const tracked = new Map();
let sending = 0;

function item(file) {
  const li = document.createElement('li');
  const name = document.createElement('span');
  name.className = 'file';
  name.textContent = file.name;
  const bar = document.createElement('progress');
  bar.max = 1;
  bar.value = 0;
  bar.setAttribute('aria-label', `Upload of ${file.name}`);
  const said = document.createElement('span');
  said.className = 'said';
  li.append(name, bar, said);
  $('[data-uploads] ol').prepend(li);
  $('[data-uploads]').hidden = false;
  return { file, li, name, bar, said };
}

function tell(upload, stage, words, value) {
  upload.li.dataset.stage = stage;
  upload.said.textContent = words;
  if (value === undefined) upload.bar.removeAttribute('value'); else upload.bar.value = value;
}

function failed(upload, why) {
  tell(upload, 'bad', why, 1);
  const again = document.createElement('button');
  again.type = 'button';
  again.textContent = 'Try again';
  again.addEventListener('click', () => { again.remove(); queue(upload); });
  upload.said.append(' ', again);
}

function queue(upload) {
  tell(upload, 'busy', 'Waiting to upload', 0);
  waiting.push(upload);
  send();
}

function take(files) {
  const limit = Number($('[data-drop]').dataset.limit);
  for (const file of files) {
    const upload = item(file);
    if (file.size > limit) tell(upload, 'bad', 'Larger than this server takes', 1);
    else queue(upload);
  }
}

function send() {
  while (sending < AT_ONCE && waiting.length) {
    sending += 1;
    post(waiting.shift());
  }
}

function post(upload) {
  const form = new FormData();
  form.append('kb', $('[data-drop]').dataset.kb);
  form.append('file', upload.file, upload.file.name);
  const request = new XMLHttpRequest();
  request.open('POST', '/v1/ingest');
  request.responseType = 'json';
  request.upload.onprogress = ({ loaded, total }) =>
    tell(upload, 'busy', `Uploading ${Math.round((100 * loaded) / total)} %`, (0.3 * loaded) / total);
  request.onload = () => answered(upload, request.status, request.response);
  request.onerror = () => failed(upload, 'The server could not be reached.');
  request.onloadend = () => { sending -= 1; send(); };
  request.send(form);
}

function answered(upload, status, body) {
  if (status === 401) { location.href = '/sign-in'; return; }
  if (status >= 400 || !body) {
    failed(upload, sentence(body?.detail ?? `The server answered ${status}`, body?.hint));
    return;
  }
  upload.document = body.doc_id;
  if (body.reason === 'same_content') {
    ready(upload, 'Already here, unchanged');
    return;
  }
  tell(upload, 'busy', 'Queued', 0.32);
  tracked.set(body.run_id, upload);
}

function sentence(...parts) {
  return parts.filter(Boolean).map((part) => part[0].toUpperCase() + part.slice(1) + '.').join(' ');
}

function ready(upload, words) {
  tell(upload, 'good', words, 1);
  const link = document.createElement('a');
  link.href = `/documents/${upload.document}`;
  link.textContent = upload.name.textContent;
  upload.name.replaceChildren(link);
}

const STAGES = { prep: ['Parsing', 0.4], extract: ['Chunking and embedding', 0.5], finalize: ['Indexing', 0.95] };

function progress(upload, run) {
  if (run.status === 'succeeded') return ready(upload, `Ready: ${run.stats.chunks_created} chunks`);
  if (run.status === 'failed') return failed(upload, sentence(run.error?.message ?? 'Failed', run.error?.hint));
  if (run.status === 'canceled') return tell(upload, 'quiet', 'Canceled', 1);
  if (run.waiting) return tell(upload, 'wait', `Waiting: ${run.waiting}`);
  const [words, value] = STAGES[run.stage] ?? ['Queued', 0.32];
  const parts = run.stage === 'extract' && run.units_total > 1;
  const share = parts ? (0.45 * run.units_done) / run.units_total : 0;
  return tell(upload, 'busy', parts ? `${words} ${run.units_done} of ${run.units_total}` : words, value + share);
}

const LIVE = new Set(['queued', 'running']);

/** One request tells of all runs on their way; those it misses are asked for by name. */
async function follow() {
  if (!tracked.size) return;
  const kb = encodeURIComponent($('[data-drop]').dataset.kb);
  const listed = await (await fetch(`/v1/runs?kb=${kb}&limit=200`)).json();
  const known = new Map(listed.items.map((run) => [run.run_id, run]));
  for (const [id, upload] of [...tracked]) {
    const run = known.get(id) ?? await (await fetch(`/v1/runs/${id}`)).json();
    progress(upload, run);
    if (!LIVE.has(run.status)) tracked.delete(id);
  }
  renew();
}

async function files(entry) {
  if (entry.isFile) return [await new Promise((done, no) => entry.file(done, no))];
  const reader = entry.createReader();
  const all = [];
  for (;;) {
    const some = await new Promise((done, no) => reader.readEntries(done, no));
    if (!some.length) break;
    for (const inner of some) all.push(...await files(inner));
  }
  return all;
}

function watchDrops() {
  let depth = 0;
  const over = (change) => {
    depth = Math.max(0, depth + change);
    document.body.classList.toggle('dropping', depth > 0);
  };
  addEventListener('dragenter', (event) => { event.preventDefault(); over(1); });
  addEventListener('dragleave', () => over(-1));
  addEventListener('dragover', (event) => event.preventDefault());
  addEventListener('drop', async (event) => {
    event.preventDefault();
    over(-depth);
    const entries = [...event.dataTransfer.items].map((one) => one.webkitGetAsEntry()).filter(Boolean);
    for (const entry of entries) take(await files(entry));
  });
}

// ---- begin

tellTimes();
showChosen();
if ($('[data-drop]')) {
  watchDrops();
  setInterval(() => follow().catch(() => {}), 700);
}
if ($('[data-live]')) setInterval(renew, 3000);
