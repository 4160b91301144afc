// The panel beside the picture: everything known of the selected event. And the header.

// What the words of an operation promise.
const STRENGTHS = {
  weak: 'orders nothing, and may race',
  relaxed: 'atomic, orders nothing',
  acquire: 'what follows comes after what the release it reads from covers',
  release: 'what came before is covered for whoever acquires it',
  acq_rel: 'acquires what it reads and releases what came before',
  sc: 'acquires, releases, and is in one order with all fences of its kind',
};
const SCOPES = {
  block: 'for threads of this block',
  gpu: 'for threads of this GPU',
  system: 'for every thread and NIC',
  sys: 'for every thread and NIC',
  nic: 'for the NIC',
};

function meaningOf(what) {
  const words = what.split('.');
  const strength = words.find((word) => word in STRENGTHS);
  if (!strength) return '';
  const scope = words.find((word) => word in SCOPES);
  const promise = STRENGTHS[strength];
  const orders = strength !== 'weak' && strength !== 'relaxed';
  return `${strength}: ${promise}${orders && scope ? `, ${SCOPES[scope]}` : ''}`;
}

function eventLink(index) {
  const event = events[index];
  const link = element('button', 'link', element('b', '', `#${index}`),
    ` ${laneOf(index).name} · ${event.what}`, event.value ? ` ${shortHex(event.value)}` : '');
  link.type = 'button';
  link.dataset.go = index;
  return link;
}

const MOST_LINKS = 6;

// Links to some events; of a long list, those nearest to the selected one.
function linksTo(indices, selected) {
  const near = [...indices].sort((a, b) => Math.abs(a - selected) - Math.abs(b - selected))
    .slice(0, MOST_LINKS).sort((a, b) => a - b);
  const parts = near.map(eventLink);
  if (indices.length > near.length) parts.push(`and ${indices.length - near.length} more`);
  return parts;
}

function valueLine(hex, bytes) {
  const count = `${bytes} byte${bytes > 1 ? 's' : ''}`;
  const whole = bytes > 8 ? `the first 8 of ${count}` : count;
  return [element('code', '', hex), element('br'), element('code', '', decimal(hex)),
    element('br'), element('small', '', whole)];
}

// [term, parts of its description] for all that is known of an event.
function factsOf(index) {
  const event = events[index];
  const facts = [['Lane', [laneOf(index).name]]];
  const add = (term, ...parts) => facts.push([term, parts]);
  if (event.where) add('Place', event.where);
  const wrote = event.kind === 'rmw' ? 'Wrote' : 'Value';
  if (event.old) add('Read', ...valueLine(event.old, event.bytes));
  if (event.value) add(wrote, ...valueLine(event.value, event.bytes));
  if (isEvent(event.readsFrom)) add('Read from', eventLink(event.readsFrom));
  if (event.readsFrom === -1) add('Read from', 'what was there at the beginning');
  if (staleBy(index)) {
    const newer = staleBy(index) === 1 ? 'one newer value' : `${staleBy(index)} newer values`;
    add('Stale by', element('b', 'mark old', `⟲ ${staleBy(index)}`), ` ${newer} could be read`);
  }
  const operation = operationOf[index];
  if (operation && !beginsOperation(index)) {
    add('Part of', ...linksTo([operation.events[0]], index), operation.what);
  }
  if (operation?.events.length > 1 && beginsOperation(index)) {
    add('Consists of', ...linksTo(operation.events.slice(1), index));
  }
  if (event.order) add('Order', element('code', '', event.order));
  if (meaningOf(event.what)) add('Strength', meaningOf(event.what));
  if (event.file) add('Source', element('code', '', `${event.file}:${event.line}`));
  if (followsOf(index).length) add('Ordered after', ...linksTo(followsOf(index), index));
  if (followers[index].length) add('Its order taken up by', ...linksTo(followers[index], index));
  if (readers[index].length) add('Read by', ...linksTo(readers[index], index));
  const others = (places.get(event.where) ?? []).filter((other) => other !== index);
  if (others.length) add('Same place', ...linksTo(others, index));
  return facts;
}

function drawDetail(index) {
  const panel = byId('detail');
  panel.replaceChildren();
  if (!isEvent(index)) {
    panel.append(element('p', 'empty', 'No event is selected.'));
    return;
  }
  const event = events[index];
  const kind = KINDS[event.kind] ?? [event.kind, event.kind];
  panel.dataset.event = index;
  panel.append(element('h2', `kind-${event.kind}`, element('i', 'badge', kind[0]), `#${index} `,
    element('code', '', event.what)), element('p', 'kind', kind[1]));
  for (const edge of missing) {
    if (edge.from !== index && edge.to !== index) continue;
    panel.append(element('div', 'missing-box',
      element('b', '', edge.from === index ? 'Missing order before' : 'Missing order after'),
      eventLink(edge.from === index ? edge.to : edge.from)));
  }
  const list = element('dl');
  for (const [term, parts] of factsOf(index)) {
    list.append(element('dt', '', term), element('dd', '', ...parts));
  }
  panel.append(list);
}

function drawSummary() {
  const title = element('h1', '', element('span', 'failed', '✗ failed'), trace.scenario);
  const facts = element('p', 'facts', 'It needs ', element('span', 'fact', trace.deviations),
    ...(trace.knobs.length ? [', with'] : []),
    ...trace.knobs.map((knob) => element('span', 'knob', knob)));
  const sentences = trace.missing.map((edge, number) => {
    // The verdict, or the picture, says the sentence.
    const isSaid = edge.isVerdict || missing.includes(edge);
    const line = element('li', '', element('b', '', 'Missing order  '),
      isSaid ? '' : edge.sentence);
    if (missing.includes(edge)) {
      const jump = element('button', 'link', `#${edge.from} → #${edge.to}`);
      jump.type = 'button';
      jump.dataset.go = edge.to;
      jump.setAttribute('aria-label', `Go to missing order ${number + 1}`);
      line.append(' ', jump);
    }
    return line;
  });
  const copy = element('button', '', 'Copy');
  copy.id = 'copy';
  copy.type = 'button';
  const replay = element('p', 'replay', element('span', '', 'Replay'),
    element('code', '', trace.replay), copy);
  replay.querySelector('code').id = 'replay';
  replay.hidden = !trace.replay;
  byId('to-missing').disabled = missing.length === 0;
  byId('to-finding').disabled = related.size === 0;
  byId('summary').append(title, element('p', 'verdict', trace.verdict),
    element('ul', 'sentences', ...sentences), facts, replay);
  for (const [kind, [badge, name]] of Object.entries(KINDS)) {
    const word = element('i', 'badge', badge);
    byId('legend').append(element('span', `kind-${kind}`, word, ` ${name}`));
  }
}
