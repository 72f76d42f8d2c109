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

document.addEventListener('keydown', (event) => {
  const typing = event.target.closest('input, select, textarea, [role=region]');
  if (typing || event.ctrlKey || event.metaKey || event.altKey) return;
  const search = document.getElementById('search');
  if (event.key === '/' && search) {
    event.preventDefault();
    search.focus();
    return;
  }
  const link = document.querySelector(`a[data-key="${CSS.escape(event.key)}"]`);
  if (link) link.click();
});

// A package that is being assembled: the page is loaded again once it can be downloaded or has failed.
const assembling = document.querySelector('progress[data-wait]');
if (assembling) {
  const look = async () => {
    const answer = await fetch(assembling.dataset.wait + '?wait=0', { method: 'HEAD' }).catch(() => null);
    if (answer && (answer.ok || !answer.headers.has('Retry-After'))) location.reload();
    else setTimeout(look, 1500);
  };
  setTimeout(look, 500);
}
