// What saves a reload. Every page works without it.
'use strict';

// Times in the zone of whoever looks.
for (const time of document.querySelectorAll('time[datetime]')) {
  const at = new Date(time.dateTime);
  if (!isNaN(at)) time.title = at.toLocaleString(undefined, { dateStyle: 'full', timeStyle: 'long' });
}

for (const button of document.querySelectorAll('button.copy')) {
  button.hidden = !navigator.clipboard;
  button.addEventListener('click', async () => {
    await navigator.clipboard.writeText(button.dataset.copy);
    button.textContent = 'Copied';
  });
}

// Keys. Pages name the links that a key follows with data-key.
const help = [
  ['/', 'search'], ['j, k', 'next or previous row'], ['Enter', 'open the row'], ['g h', 'home'], ['g e', 'environments'], ['g f', 'flows'],
  ['g p', 'policies'], ['g d', 'deployments'], ['g m', 'members'], ['←, →', 'previous or next snapshot'], ['?', 'this list'],
];
const sections = { h: '', e: '/environments', f: '/flows', p: '/policies', d: '/deployments', m: '/members' };
let going = false;

function showHelp() {
  const dialog = document.createElement('dialog');
  dialog.setAttribute('aria-label', 'Keys');
  const list = dialog.appendChild(document.createElement('dl'));
  list.className = 'facts';
  for (const [key, does] of help) {
    list.appendChild(document.createElement('dt')).textContent = key;
    list.appendChild(document.createElement('dd')).textContent = does;
  }
  dialog.addEventListener('close', () => dialog.remove());
  document.body.appendChild(dialog).showModal();
}

function moveRow(step) {
  const rows = [...document.querySelectorAll('tbody tr, .cards > li, details.card')];
  const links = rows.map((row) => row.querySelector('a, summary')).filter(Boolean);
  if (links.length === 0) return;
  const at = links.findIndex((link) => rows.some((row) => row.contains(link) && row.contains(document.activeElement)));
  links[at < 0 ? (step > 0 ? 0 : links.length - 1) : Math.min(Math.max(at + step, 0), links.length - 1)].focus();
}

document.addEventListener('keydown', (event) => {
  const typing = event.target.closest('input:not([type=checkbox]), select, textarea');
  if (typing || event.ctrlKey || event.metaKey || event.altKey || document.querySelector('dialog')) return;
  const key = event.key;
  const home = document.querySelector('header nav a');
  if (going && home && key in sections) location.assign(home.pathname + sections[key]);
  going = key === 'g';
  if (key === '/') {
    const search = document.getElementById('search');
    if (!search) return;
    event.preventDefault();
    search.focus();
  } else if (key === '?') showHelp();
  else if (key === 'j') moveRow(1);
  else if (key === 'k') moveRow(-1);
  else if (!event.target.closest('[role=region]')) {
    const link = document.querySelector(`a[data-key="${CSS.escape(key)}"]`);
    if (link) link.click();
  }
});

// A package that is being assembled: the page asks again how far it has come.
if (document.querySelector('progress')) setTimeout(() => location.reload(), 3000);
