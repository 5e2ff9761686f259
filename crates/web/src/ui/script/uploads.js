
// ---- uploads

const AT_ONCE = 3;
const REMEMBERED = 200;
const waiting = [];
// By run: the uploads that wait for it. The same bytes dropped twice wait for the same one.
const tracked = new Map();
// News of runs that no upload waits for: a small file may be ready before its upload is answered.
const early = new Map();
const tally = { sent: 0, ready: 0, failed: 0 };
let sending = 0;

function made(tag, className, ...inside) {
  const element = document.createElement(tag);
  element.className = className;
  element.append(...inside);
  return element;
}

function item(file) {
  const called = file.from || file.webkitRelativePath || file.name;
  const name = made('span', 'file', called);
  const bar = made('progress', '');
  bar.max = 1;
  bar.value = 0;
  bar.setAttribute('aria-label', `Progress of ${called}`);
  const said = made('span', 'said');
  const li = made('li', '', name, bar, said);
  $('[data-uploads] ol').append(li);
  $('[data-uploads]').hidden = false;
  return { file, li, name, bar, said };
}

function tell(upload, tone, words, value) {
  upload.li.dataset.stage = tone;
  upload.said.textContent = words;
  if (value === undefined) upload.bar.removeAttribute('value'); else upload.bar.value = value;
}

function count() {
  const { sent, ready, failed } = tally;
  const words = `${ready} of ${sent} ready${failed ? `, ${failed} failed` : ''}`;
  $('[data-tally]').textContent = words;
  if (!waiting.length && !sending && !tracked.size) $('[data-told]').textContent = `Uploads: ${words}`;
}

const many = (number, thing) => `${number} ${thing}${number === 1 ? '' : 's'}`;

function sentence(...parts) {
  return parts.filter(Boolean).map((part) => part[0].toUpperCase() + part.slice(1) + '.').join(' ');
}

// Says why, and offers to do again what failed: the upload, or only the run.
function failed(upload, why, again) {
  tally.failed += 1;
  tell(upload, 'bad', why, 1);
  const button = made('button', 'small', 'Try again');
  button.type = 'button';
  button.addEventListener('click', () => {
    tally.failed -= 1;
    again(upload);
    count();
  });
  upload.said.append(' ', button);
  count();
}

function ready(upload, words) {
  tally.ready += 1;
  tell(upload, 'good', words, 1);
  const link = made('a', '', upload.name.textContent);
  link.href = `/documents/${upload.document}`;
  upload.name.replaceChildren(link);
  count();
}

function queue(upload) {
  tell(upload, 'later', 'Waiting to upload', 0);
  waiting.push(upload);
  send();
}

function take(files) {
  const limit = Number(document.body.dataset.limit);
  for (const file of files) {
    const upload = item(file);
    tally.sent += 1;
    if (file.size > limit) {
      tally.failed += 1;
      tell(upload, 'bad', 'Larger than this server takes.', 1);
    } else queue(upload);
  }
  count();
}

function send() {
  while (sending < AT_ONCE && waiting.length) {
    sending += 1;
    post(waiting.shift());
  }
}

function post(upload) {
  listen();
  const form = new FormData();
  form.append('kb', document.body.dataset.kb);
  form.append('file', upload.file, upload.file.name);
  const request = new XMLHttpRequest();
  request.open('POST', '/v1/ingest');
  request.responseType = 'json';
  tell(upload, 'busy', 'Uploading', 0);
  request.upload.onprogress = ({ loaded, total }) =>
    tell(upload, 'busy', `Uploading ${Math.round((100 * loaded) / total)} %`, (0.3 * loaded) / total);
  request.onload = () => answered(upload, request.status, request.response);
  request.onerror = () => failed(upload, 'The server could not be reached.', queue);
  request.onloadend = () => { sending -= 1; send(); };
  request.send(form);
}

function answered(upload, status, body) {
  if (status === 401) { location.href = '/sign-in'; return; }
  if (status >= 400 || !body) {
    failed(upload, sentence(body?.detail ?? `The server answered ${status}`, body?.hint), queue);
    return;
  }
  upload.document = body.doc_id;
  if (body.reason === 'same_content') ready(upload, 'Already here, unchanged');
  else track(upload, body.run_id);
}

function track(upload, run) {
  upload.run = run;
  follow(upload);
  listen();
  for (const news of early.get(run) ?? []) progress(upload, news);
}

function follow(upload) {
  tell(upload, 'busy', 'Queued', 0.32);
  tracked.set(upload.run, (tracked.get(upload.run) ?? new Set()).add(upload));
}

function unfollow(upload) {
  const following = tracked.get(upload.run);
  following?.delete(upload);
  if (!following?.size) tracked.delete(upload.run);
}

const STAGES = { parsing: ['Parsing', 0.4], chunking: ['Chunking', 0.5], embedding: ['Embedding', 0.6], indexing: ['Indexing', 0.9] };

function progress(upload, { kind, data }) {
  switch (kind) {
    case 'run.stage': {
      if (data.stage === 'waiting') return tell(upload, 'wait', `Waiting: ${data.why}`);
      const [words, value] = STAGES[data.stage];
      return tell(upload, 'busy', upload.parts ? `${words}, ${upload.parts}` : words, value);
    }
    case 'run.progress':
      upload.parts = data.units_total > 1 && `${data.units_done} of ${data.units_total} parts`;
      return undefined;
    case 'run.succeeded':
      unfollow(upload);
      return ready(upload, `Ready: ${many(data.stats.chunks_created, 'chunk')}`);
    case 'run.failed':
      unfollow(upload);
      return failed(upload, sentence(data.error?.message ?? 'it failed', data.error?.hint), retry);
    case 'run.canceled':
      unfollow(upload);
      return tell(upload, 'quiet', 'Canceled', 1);
    default:
      return undefined;
  }
}

// The bytes are there already: only the run is begun anew.
async function retry(upload) {
  follow(upload);
  const answer = await fetch(`/runs/${upload.run}/retry`, { method: 'POST' }).catch(() => null);
  if (answer?.ok) return;
  unfollow(upload);
  failed(upload, 'It could not be begun anew.', retry);
}

hearers.push((news) => {
  if (!news.run) return;
  for (const upload of tracked.get(news.run) ?? []) progress(upload, news);
  if (!sending || tracked.has(news.run)) return;
  early.set(news.run, [...(early.get(news.run) ?? []), news]);
  if (early.size > REMEMBERED) early.delete(early.keys().next().value);
});

// ---- dropping

async function files(entry) {
  if (entry.isFile) {
    const file = await new Promise((done, no) => entry.file(done, no));
    file.from = entry.fullPath.slice(1);
    return [file];
  }
  const reader = entry.createReader();
  const all = [];
  for (;;) {
    const some = await new Promise((done, no) => reader.readEntries(done, no));
    if (!some.length) break;
    for (const inner of some) all.push(...await files(inner));
  }
  return all;
}

// A folder or a file this browser may not look into.
function unread(entry) {
  tally.sent += 1;
  failed(item(entry), 'It could not be read here.', async (upload) => {
    upload.li.remove();
    tally.sent -= 1;
    await files(entry).then(take, () => unread(entry));
  });
}

const carriesFiles = (event) => event.dataTransfer?.types.includes('Files');

function watchDrops() {
  let depth = 0;
  const over = (change) => {
    depth = Math.max(0, depth + change);
    document.body.classList.toggle('dropping', depth > 0);
  };
  addEventListener('dragenter', (event) => { if (carriesFiles(event)) { event.preventDefault(); over(1); } });
  addEventListener('dragleave', (event) => { if (carriesFiles(event)) over(-1); });
  addEventListener('dragover', (event) => { if (carriesFiles(event)) event.preventDefault(); });
  addEventListener('drop', async (event) => {
    if (!carriesFiles(event)) return;
    event.preventDefault();
    over(-depth);
    // Asked for before the first wait: the list is gone afterwards.
    const entries = [...event.dataTransfer.items].map((one) => one.webkitGetAsEntry()).filter(Boolean);
    for (const entry of entries) await files(entry).then(take, () => unread(entry));
  });
}

document.addEventListener('change', (event) => {
  if (!event.target.matches('[data-files]')) return;
  take([...event.target.files]);
  event.target.value = '';
});
document.addEventListener('click', (event) => {
  if (!event.target.closest('[data-clear]')) return;
  for (const li of $$('[data-uploads] li')) if (['good', 'bad', 'quiet'].includes(li.dataset.stage)) li.remove();
  $('[data-uploads]').hidden = !$('[data-uploads] li');
});
addEventListener('beforeunload', (event) => { if (sending || waiting.length) event.preventDefault(); });

// ---- begin

tellTimes();
showChosen();
// Pages of the whole house lead back to the knowledge base one comes from.
const { of } = document.body.dataset;
if (of) document.cookie = `gristmill_kb=${encodeURIComponent(of)}; path=/; max-age=31536000; samesite=strict`;
if (document.body.dataset.kb) watchDrops();
listen();
setInterval(() => { listen(); renew(); }, ANYWAY_EVERY);
document.documentElement.dataset.ready = '';
