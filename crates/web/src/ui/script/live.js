
// ---- what happens, as it happens
//
// One stream for the page in front; a page nobody looks at gives its connection back,
// for a browser has few. Parts marked as live are fetched again when something happened.

const KINDS = ['queued', 'running', 'stage', 'progress', 'succeeded', 'failed', 'canceled'].map((kind) => `run.${kind}`)
  .concat(['started', 'paused', 'resumed', 'completed', 'failed', 'canceling', 'canceled'].map((kind) => `job.${kind}`))
  .concat(['skipped', 'deactivated', 'rolled_back', 'purged'].map((kind) => `document.${kind}`));
const AT_MOST_EVERY = 1000;
const ANYWAY_EVERY = 15000;

const hearers = [];
let stream = null;
let last = document.body.dataset.events;

function listen() {
  const wanted = !document.hidden && ($('[data-live]') || tracked.size);
  // A browser comes back by itself, but not to a server that once refused it.
  if (!wanted || (stream && stream.readyState !== EventSource.CLOSED)) return;
  stream = new EventSource(`/v1/events/stream?after=${last}`);
  for (const kind of KINDS) stream.addEventListener(kind, heard);
}

function heard(message) {
  if (message.lastEventId) last = message.lastEventId;
  const news = { ...JSON.parse(message.data), kind: message.type };
  for (const hearer of hearers) hearer(news);
}

document.addEventListener('visibilitychange', () => {
  if (document.hidden) {
    stream?.close();
    stream = null;
  } else {
    listen();
    renew();
  }
});

async function fetched(url) {
  const response = await fetch(url, { headers: { accept: 'text/html' } });
  if (response.redirected && new URL(response.url).pathname === '/sign-in') location.reload();
  if (!response.ok) throw new Error(`the server answered ${response.status}`);
  return new DOMParser().parseFromString(await response.text(), 'text/html');
}

// What the focus is on, in words that find it again in a fresh copy.
const sameAs = (old) => (now) =>
  old.id ? now.id === old.id
    : now.tagName === old.tagName && now.getAttribute('href') === old.getAttribute('href')
      && now.form?.action === old.form?.action && now.textContent === old.textContent;

function replaceParts(fresh, selector) {
  for (const old of $$(selector)) {
    const now = fresh.getElementById(old.id);
    const active = old.contains(document.activeElement) ? document.activeElement : null;
    // A part somebody is typing in, or has opened, is left alone.
    if (!now || active?.matches('input, select, textarea') || $('details[open]', old)) continue;
    old.replaceWith(document.adoptNode(now));
    const again = active && $$(active.tagName, now).find(sameAs(active));
    again?.focus({ preventScroll: true });
  }
  tellTimes();
}

let renewing = false;
let due = false;
async function renew() {
  if (document.hidden || !$('[data-live]')) return;
  if (renewing) { due = true; return; }
  renewing = true;
  due = false;
  try {
    replaceParts(await fetched(location.href), '[data-live]');
  } catch { /* the server is away; the next turn asks again */ }
  setTimeout(() => { renewing = false; if (due) renew(); }, AT_MOST_EVERY);
}

hearers.push(({ kind }) => { if (kind !== 'run.stage') renew(); });
