// Every page works without this. It keeps a run's page fresh, and folds a few keys and clicks.
(() => {
  'use strict';
  const one = (what, within = document) => within.querySelector(what);

  // A run that goes on: events say that something is new, the server sends the page anew, parts that differ are put in place.
  const live = one('#live');
  if (live && live.dataset.ended !== 'true' && window.EventSource) {
    const run = encodeURIComponent(live.dataset.run);
    const names = ('run.started run.resumed run.finishing run.completed run.failed run.cancelled clarify.asked clarify.answered ' +
      'brief.ready plan.proposed plan.waiting plan.changed plan.approved wave.started wave.finished search.completed page.searched page.continued read.completed ' +
      'read.failed evidence.added coverage.updated gap.found gate.judged step.unaided document.failed conflict.found runtime_progress llm.completed budget.updated draft.delta report.ready').split(' ');
    const told = one('#said');
    let last = 0, due = 0, busy = false, again = false, spoken = 0, heard = '';
    const story = new EventSource(`/v1/runs/${run}/events?after=${live.dataset.after}`);

    const typing = (part) => {
      const at = document.activeElement;
      return part.contains(at) && /^(INPUT|TEXTAREA|SELECT)$/.test(at.tagName) || [...part.querySelectorAll('input,textarea')].some((it) => it.value !== it.defaultValue);
    };
    const say = (text) => {
      const now = Date.now();
      if (text === heard || now - spoken < 10000 && !/ended|waiting/.test(text)) return;
      [spoken, heard] = [now, text];
      told.textContent = text;
    };
    const put = (text) => {
      const fresh = new DOMParser().parseFromString(text, 'text/html');
      for (const part of fresh.querySelectorAll('[data-part]')) {
        const old = one(`[data-part="${part.dataset.part}"]`, live);
        if (!old || old.outerHTML === part.outerHTML || typing(old)) continue;
        const at = document.activeElement, inside = old.contains(at) && (at.getAttribute('href') || at.textContent);
        old.replaceWith(document.importNode(part, true));
        if (inside) {
          const place = one(`[data-part="${part.dataset.part}"]`, live);
          [...place.querySelectorAll('a,button')].find((it) => (it.getAttribute('href') || it.textContent) === inside)?.focus();
        }
      }
      const head = one('[data-part="head"]', fresh);
      if (!head) return;
      say(head.dataset.summary);
      if (head.dataset.ended === 'true') {
        story.close();
        clearInterval(tick);
      }
    };
    const refresh = async () => {
      due = 0;
      if (busy) { again = true; return; }
      busy = true;
      last = Date.now();
      try {
        const answer = await fetch(`/r/${run}/live`, { headers: { accept: 'text/html' } });
        if (answer.ok && !answer.redirected) put(await answer.text());
      } catch { /* the stream says when the server is there again */ }
      busy = false;
      if (again) { again = false; soon(); }
    };
    // Never more often than once in 900 ms, whatever happens.
    const soon = () => { due ||= setTimeout(refresh, Math.max(60, 900 - (Date.now() - last))); };
    names.forEach((name) => story.addEventListener(name, soon));
    story.addEventListener('error', soon);
    // The clock goes on where nothing happens.
    const tick = setInterval(soon, 5000);
  }

  // A list with runs that go on.
  const runs = one('#runs[data-moving="true"]');
  if (runs) {
    const look = async () => {
      if (document.hidden) return;
      try {
        const answer = await fetch(location.href, { headers: { accept: 'text/html' } });
        if (!answer.ok || answer.redirected) return;
        const fresh = one('#runs', new DOMParser().parseFromString(await answer.text(), 'text/html'));
        const old = one('#runs');
        if (!fresh || old.contains(document.activeElement) || one(':checked', old)) return;
        old.replaceWith(document.importNode(fresh, true));
        if (fresh.dataset.moving !== 'true') clearInterval(timer);
      } catch { /* it will be tried again */ }
    };
    const timer = setInterval(look, 5000);
  }

  // `/` goes to the search, arrows from quote to quote.
  document.addEventListener('keydown', (key) => {
    if (key.ctrlKey || key.metaKey || key.altKey || /^(INPUT|TEXTAREA|SELECT)$/.test(key.target.tagName)) return;
    const box = key.key === '/' && one('input[type=search]');
    if (box) { key.preventDefault(); box.focus(); }
    const way = key.target === document.body && { ArrowLeft: 'prev', ArrowRight: 'next' }[key.key];
    if (way) one(`a[rel=${way}]`)?.click();
  });

  // What a form sends is sent once.
  document.addEventListener('submit', (it) => {
    const form = it.target;
    if (form.dataset.sent) { it.preventDefault(); return; }
    if (form.method === 'post') form.dataset.sent = 'yes';
  });
  addEventListener('pageshow', () => document.querySelectorAll('form').forEach((it) => delete it.dataset.sent));
})();
