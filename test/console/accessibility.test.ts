/**
 * The console in Chromium, for everybody: WCAG 2.2 AA as far as a program can tell (axe-core), on every page, in the
 * light and in the dark, wide and narrow; and what only a person with a keyboard would notice. Skipped without Chromium.
 */
import t, { type Test } from 'tap'
import { acceptedRecord, briefIn, sectionsFor } from '../http/briefs.ts'
import { advance, answer, NAME, world } from '../http/initiative-harness.ts'
import { AT, begin, finish, fleet, submit } from '../http/ledger-harness.ts'
import { startTestService, type TestService } from '../http/service-harness.ts'
import { Browser, CHROMIUM, type View } from './chromium.ts'

const skip = CHROMIUM === undefined && 'there is no Chromium'

const VIEWS: readonly View[] = [1300, 390].flatMap((width) => [
  { width, scheme: 'light' },
  { width, scheme: 'dark' },
])

/** Something of every kind, in as many states as one can have at once; returns the addresses of all pages. */
async function filled(s: TestService): Promise<readonly string[]> {
  const w = await world(s)
  await advance(w, 't1')
  await answer(w, { decision: 'ask', question: 'Which bank?' })
  const done = await submit(s, { objective: 'Show the prices' })
  const first = await begin(s, w.runner)
  const said = { stream: 'stdout', text: 'compiled\n'.repeat(400) }
  const output = { event_type: 'run_output', occurred_at: AT, payload: said }
  await s.expect(200, 'POST', `/api/run-requests/${first.request_id}/events`, { events: [output] }, w.runner)
  await finish(s, w.runner, first.request_id)
  const asks = { project: 'shop', success: false, landed: false, summary: 'stopped', verdict: 'blocked_on_decision' }
  await submit(s, { objective: `Set the prices. ${'Of everything that is sold. '.repeat(20)}` })
  const second = await begin(s, w.runner)
  await finish(s, w.runner, second.request_id, { ...asks, finding: 'Net or gross?', options: ['net', 'gross'] })
  await submit(s, { objective: 'Tidy up' })
  const third = await begin(s, w.runner)
  await s.expect(200, 'POST', '/api/pacing/pause', { lanes: ['maintenance'] })
  await s.expect(200, 'POST', '/api/pacing/limit', { label: 'provider:anthropic', max_running: 5 })
  await s.expect(200, 'POST', '/api/pacing/weigh', { project: 'shop', weight: 3 })
  const waits = await submit(s, { objective: 'Update the dependencies', lane: 'maintenance' })
  await s.request('shop')
  const mission = { mission: 'Be tidy', done_evidence: [{ kind: 'review', statement: 'It is tidy.' }] }
  await s.expect(201, 'POST', '/api/campaigns', { name: 'spring', project: 'shop', ...mission })
  const cron = { cron: '30 2 * * 1-5', time_zone: 'Europe/Berlin', item: { objective: 'Look after the shop' } }
  await s.expect(201, 'POST', '/api/sentinels', { name: 'nightly', project: 'shop', ...cron })
  await s.expect(200, 'POST', '/api/sentinels/nightly/fire', {})
  const { body: shop } = await s.expect(200, 'GET', '/api/projects/shop')
  const record = await acceptedRecord(s, shop, 'tidy')
  const brief = await briefIn(s, 'reviewable', 'shop', sectionsFor(record))
  const inspection = {
    source: { tool: 'archaeologist' },
    repository: { path: 'git@example.com:shop', revision: 'abc123' },
    observations: [{ ref: 'o1', summary: 'Sessions are kept in Redis.', files: ['src/auth/store.ts'] }],
    hypotheses: [{ key: 'sessions', confidence: 0.7, based_on: ['o1'], possible_intent: { capability: 'They last.' } }],
  }
  const { body: found } = await s.expect(201, 'POST', '/api/projects/shop/discoveries', inspection)
  const { body: hypotheses } = await s.expect(200, 'GET', '/api/projects/shop/hypotheses')
  return [
    ...['', 'items', 'runs', 'runners', 'campaigns', 'initiatives', 'sentinels', 'sessions', 'projects', 'events'],
    ...['intent?project=shop', 'hypotheses?project=shop', 'briefs?project=shop', 'discoveries?project=shop', 'intent'],
    ...['items?state=landed', 'nowhere', `items/${done.id}`, `items/${waits.id}`, `runs/${third.request_id}`],
    ...['runners/r1', 'campaigns/spring', `initiatives/${NAME}`, 'sentinels/nightly', 'projects/shop'],
    ...[`intent/${record}`, `briefs/${brief.id}`, `hypotheses/${hypotheses.items[0].id}`, `discoveries/${found.id}`],
    ...[`traces/${third.trace.trace_id}`, 'items/wi_000000000000000000000000'],
  ].map((path) => `#/${path}`)
}

/** About 130 pages are drawn and looked over: 30 seconds, and many times that on a machine with much else to do. */
t.setTimeout(500_000)

async function isSound(t: Test, browser: Browser, what: string): Promise<void> {
  for (const view of VIEWS) {
    await browser.view(view)
    const name = `${what}, ${view.width} pixels wide, ${view.scheme}`
    t.same(await browser.violations(view !== VIEWS[0]), [], name)
    const tooWide = 'document.documentElement.scrollWidth > document.documentElement.clientWidth'
    t.equal(await browser.value(tooWide), false, `${name}: it is not wider than the screen`)
  }
}

t.test('every page is for everybody', { skip }, async (t) => {
  const s = await startTestService(t)
  const pages = await filled(s)
  const browser = await Browser.open(t, s.service.url)
  await isSound(t, browser, 'signing in')
  await browser.value(`sessionStorage.setItem('intendant.token', '${s.admin}')`)
  await browser.reload()
  await browser.shows('Sign out')
  for (const page of pages) {
    await browser.go(page)
    await isSound(t, browser, page)
  }
  t.same(browser.faults, [])
})

const HERE = `(() => {
  const at = document.activeElement
  return at.getAttribute('aria-label') ?? at.textContent.trim()
})()`

t.test(
  'with a keyboard alone: one key to the content, every stop is seen, and a dialog gives the focus back',
  { skip },
  async (t) => {
    const s = await startTestService(t)
    await fleet(s, 'shop')
    const item = await submit(s, { objective: 'Tidy up', not_before: '2099-01-01T00:00:00Z' })
    const browser = await Browser.open(t, s.service.url, s.admin)
    await browser.view({ width: 1300, scheme: 'light' })
    await browser.go(`#/items/${item.id}`)
    await browser.reload()
    await browser.shows('Hold')
    await browser.press('Tab')
    t.equal(await browser.value(HERE), 'Skip to the content')
    t.ok(
      await browser.value('document.activeElement.getBoundingClientRect().top >= 0'),
      'it is seen when it has the focus',
    )
    await browser.press('Enter', '\r')
    t.equal(await browser.value('document.activeElement.tagName'), 'MAIN')
    t.equal(await browser.value('location.hash'), `#/items/${item.id}`, 'and the page stays')

    const stops: string[] = []
    while (!stops.includes('Hold')) {
      await browser.press('Tab')
      stops.push(await browser.value(HERE))
      const outline = await browser.value('getComputedStyle(document.activeElement).outlineStyle')
      t.equal(outline, 'solid', `${stops.at(-1)}: the focus is seen`)
      if (stops.length > 20) break
    }
    await browser.press('Enter', '\r')
    await browser.is(`document.querySelector('dialog')?.open === true`)
    t.same(await browser.violations(), [], 'the dialog')
    await browser.press('Escape')
    await browser.is(`document.querySelector('dialog') === null`)
    t.equal(await browser.value(HERE), 'Hold')
    await browser.press('Enter', '\r')
    await browser.is(`document.activeElement.closest('dialog') !== null`)
    await browser.value(`document.querySelector('dialog form').requestSubmit()`)
    await browser.is(`document.querySelector('output.unseen').textContent === 'Hold: done.'`)
    await browser.is(`document.activeElement.className === 'actions'`)
    t.same(browser.faults, [])
  },
)

t.test('what has more to show than there is room for is reached and scrolled by the keyboard', { skip }, async (t) => {
  const s = await startTestService(t)
  const runner = await fleet(s, 'shop')
  await submit(s)
  const run = await begin(s, runner)
  const output = {
    event_type: 'run_output',
    occurred_at: AT,
    payload: { stream: 'stdout', text: 'a line\n'.repeat(400) },
  }
  await s.expect(200, 'POST', `/api/run-requests/${run.request_id}/events`, { events: [output] }, runner)
  const browser = await Browser.open(t, s.service.url, s.admin)
  await browser.view({ width: 390, scheme: 'light' })
  await browser.go(`#/runs/${run.request_id}`)
  await browser.is(`document.querySelector('.output[tabindex="0"]') !== null`)
  t.same(
    await browser.value(`['role', 'aria-label'].map((name) => document.querySelector('.output').getAttribute(name))`),
    ['region', 'Output'],
  )
  await browser.go('#/runs')
  await browser.is(`document.querySelector('.scroll').tabIndex === 0`)
  await browser.view({ width: 1300, scheme: 'light' })
  await browser.is(`document.querySelector('.scroll').tabIndex === -1`)
  t.same(browser.faults, [])
})

t.test(
  'colours that the user has chosen take the place of those of the page, and nothing is lost',
  { skip },
  async (t) => {
    const s = await startTestService(t)
    const [page] = await filled(s)
    const browser = await Browser.open(t, s.service.url, s.admin)
    await browser.send('Emulation.setEmulatedMedia', { features: [{ name: 'forced-colors', value: 'active' }] })
    await browser.go(page!)
    await browser.is(`document.querySelector('.needed') !== null`)
    t.equal(await browser.value(`getComputedStyle(document.querySelector('.needed')).borderStyle`), 'solid')
    t.equal(await browser.value(`getComputedStyle(document.querySelector('.state')).borderStyle`), 'solid')
  },
)
