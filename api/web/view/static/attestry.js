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

// A package that is being assembled: the page asks again how far it has come.
if (document.querySelector('progress')) setTimeout(() => location.reload(), 2000);
