
// ---- moving within the inspector without losing the place

// The newest wish wins, in whatever order the answers come.
let turns = 0;

async function swap(href, push) {
  const turn = turns += 1;
  const fresh = await fetched(href);
  if (turn !== turns) return;
  const scroll = $('.paper')?.scrollTop ?? 0;
  const strip = $('.thumbs')?.scrollTop ?? 0;
  replaceParts(fresh, '[data-swap]');
  document.title = fresh.title;
  if (push) history.pushState(null, '', href);
  if ($('.paper')) $('.paper').scrollTop = scroll;
  if ($('.thumbs')) $('.thumbs').scrollTop = strip;
  zoom();
  showChosen();
}

// Into view within its own pane.
function show(pane, thing) {
  if (!pane || !thing) return;
  const [outer, inner] = [pane.getBoundingClientRect(), thing.getBoundingClientRect()];
  const outside = inner.top < outer.top || inner.bottom > outer.bottom || inner.left < outer.left || inner.right > outer.right;
  if (!outside) return;
  pane.scrollTop += inner.top - outer.top - (outer.height - inner.height) / 2;
  pane.scrollLeft += inner.left - outer.left - (outer.width - inner.width) / 2;
}

// And where the pane is taller than the screen, as on a phone, the page moves too.
function bring(pane, thing) {
  if (!pane || !thing) return;
  show(pane, thing);
  const { top, bottom } = thing.getBoundingClientRect();
  if (top < $('.top').offsetHeight || bottom > innerHeight) thing.scrollIntoView({ block: 'center', inline: 'nearest' });
}

function showChosen() {
  show($('.top nav'), $('.top nav [aria-current]'));
  show($('.thumbs'), $('.thumbs [aria-current]'));
  show($('.chunks'), $('.chunks [aria-current]'));
  bring($('.paper'), $('.sheet .chosen rect'));
  bring($('.reading'), $('.reading .chosen'));
}

let scale = 0;
function zoom(by = 0) {
  scale = Math.max(-2, Math.min(4, scale + by));
  for (const sheet of $$('.sheet')) sheet.dataset.scale = scale;
}

document.addEventListener('click', (event) => {
  const button = event.target.closest('[data-zoom]');
  if (button) {
    const by = Number(button.dataset.zoom);
    zoom(by || -scale);
    showChosen();
  }
  const link = event.target.closest('[data-swap] a');
  const plain = !event.ctrlKey && !event.metaKey && !event.shiftKey && event.button === 0;
  // A link inside an SVG has an animated href.
  const href = link?.getAttribute('href');
  if (href?.startsWith('?') && plain) {
    event.preventDefault();
    swap(href, true).catch(() => { location.href = href; });
  }
});
document.addEventListener('submit', (event) => {
  if (!event.target.matches('[data-goto]')) return;
  event.preventDefault();
  const asked = `?${new URLSearchParams(new FormData(event.target))}`;
  document.activeElement.blur();
  swap(asked, true).catch(() => { location.href = asked; });
});
// Turning a phone must not hide where one is.
addEventListener('resize', () => show($('.top nav'), $('.top nav [aria-current]')));
addEventListener('popstate', () => {
  if ($('[data-swap]')) swap(location.href, false).catch(() => location.reload());
});
