/** The console in a browser: what it shows, that it stays current, and what can be done with it. */
import { once } from 'node:events'
import { cp } from 'node:fs/promises'
import { type AddressInfo, connect, createServer } from 'node:net'
import { pipeline } from 'node:stream'
import { setTimeout } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { openDiskJournal } from '../../storage/open-journal.ts'
import { acceptedRecord, briefIn, sectionsFor } from '../http/briefs.ts'
import { answer, NAME, read, SHOP, steer, steered, world } from '../http/initiative-harness.ts'
import { AT, begin, finish, fleet, reading, submit } from '../http/ledger-harness.ts'
import { startTestService, type TestService } from '../http/service-harness.ts'
import { until } from '../until.ts'
import { Page } from './page-harness.ts'

/** The result of a task whose run asks a person. */
const ASKS = {
  project: 'shop',
  success: false,
  landed: false,
  summary: 'stopped',
  verdict: 'blocked_on_decision',
  finding: 'Net or gross?',
  options: ['net', 'gross'],
}

t.test('the page and its files are answered to everybody, and may load and reach nothing else', async (t) => {
  const s = await startTestService(t)
  for (const [path, type] of [
    ['/', 'text/html'],
    ['/console/main.js', 'text/javascript'],
    ['/console/main.css', 'text/css'],
  ] as const) {
    const { headers } = await s.expect(200, 'GET', path, undefined, { token: null })
    t.equal(headers.get('content-type'), `${type}; charset=utf-8`)
    const policy = headers.get('content-security-policy')
    t.match(policy, /default-src 'none'; script-src 'self';.*frame-ancestors 'none'/)
    t.match(policy, /; connect-src 'self'; require-trusted-types-for 'script'; trusted-types 'none';/)
    t.equal(headers.get('x-content-type-options'), 'nosniff')
    t.equal(headers.get('referrer-policy'), 'no-referrer')
    t.equal((await fetch(s.service.url + path, { method: 'HEAD' })).status, 200)
  }
  const browsers = { accept: 'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8' }
  t.equal((await s.call('GET', '/', undefined, { token: null, headers: browsers })).status, 200)
})

t.test('a token that is not accepted is told, and none is kept', async (t) => {
  const s = await startTestService(t)
  const page = await Page.open(t, s.service.url)
  await page.signIn('itd_wrong')
  await page.shows('token')
  await page.shows('Sign in')
  await until(
    async () => page.find('.problem') !== null,
    (isThere) => isThere,
  )
  await page.signIn(s.admin)
  await page.shows('Nothing needs you.')
  await page.shows('live')
  await page.press('Sign out')
  await page.shows('Access token')
  t.same(page.faults, [])
})

t.test('the overview shows what runs and waits, and follows it without being loaded again', async (t) => {
  const s = await startTestService(t)
  const runner = await fleet(s, 'shop')
  const page = await Page.open(t, s.service.url)
  await page.signIn(s.admin)
  await page.shows('Nothing is running.')
  await until(
    async () => page.find('button[aria-label="Pause lane campaign"]'),
    (button) => button !== null,
  )
  await page.shows('live')
  await submit(s, { objective: 'Show <b>prices</b>' })
  await page.shows('Show <b>prices</b>')
  t.equal(page.find('b b, td b'), null, 'what a document says is text, never markup')
  const run = await begin(s, runner)
  await page.shows('running on r1')
  await finish(s, runner, run.request_id, ASKS)
  await page.shows('Net or gross?')
  await page.shows('needs decision')
  await page.shows('1 need you')
  await page.isTitled('(1) Overview – Intendant')
  t.same(page.faults, [])
})

t.test('a person submits a task, holds and cancels it, and answers what a run has asked', async (t) => {
  const s = await startTestService(t)
  const runner = await fleet(s, 'shop')
  await s.expect(200, 'POST', '/api/pacing/pause', { lanes: ['maintenance'] })
  const page = await Page.open(t, s.service.url)
  await page.signIn(s.admin)
  page.go('#/items')
  await page.shows('All projectsshop')
  await page.press('New task')
  await page.shows('What is to be done')
  await page.shows('In the time zone of this browser.')
  page.fill('project', 'shop')
  page.fill('objective', 'Tidy up')
  page.fill('lane', 'maintenance')
  page.submit('dialog form')
  await page.shows('lane maintenance is paused')
  const id = page.hash.replace('#/items/', '')
  const read = reading(s, id)
  t.match(await read(), { objective: 'Tidy up', lane: 'maintenance', state: 'queued' })

  await page.press('Hold')
  await page.shows('It does not start until somebody releases it.')
  page.submit('dialog form')
  await until(read, ({ state }) => state === 'held')
  await until(
    async () => page.find('.actions:focus'),
    (place) => place !== null,
  )
  await page.press('Release')
  page.submit('dialog form')
  await until(read, ({ state }) => state === 'queued')
  await page.press('Cancel')
  await page.shows('Discard uncommitted work')
  page.fill('reason', 'not wanted')
  page.submit('dialog form')
  await until(read, ({ state }) => state === 'cancelled')
  await page.shows('work_item_cancelled')

  const asked = await submit(s, { objective: 'Set the prices' })
  const run = await begin(s, runner)
  await finish(s, runner, run.request_id, ASKS)
  page.go(`#/items/${asked.id}`)
  await page.press('Answer')
  await page.shows('this one is closed')
  page.fill('decision', 'Net')
  page.submit('dialog form')
  await until(reading(s, asked.id), ({ state }) => state === 'cancelled')
  await until(
    async () => page.hash,
    (hash) => hash.startsWith('#/items/') && !hash.includes(asked.id),
  )
  const next = await reading(s, page.hash.replace('#/items/', ''))()
  t.match(next, { source: { kind: 'work_item', ref: asked.id } })
  t.equal(
    next.objective,
    'Set the prices\n\nAn earlier run asked for a decision: Net or gross?\nOptions: net; gross\nDecision: Net',
  )
  t.same(page.faults, [])
})

t.test('a token that may not view anything is refused at once', async (t) => {
  const s = await startTestService(t)
  const page = await Page.open(t, s.service.url)
  for (const token of [await s.runner('r1'), await s.token('submitter', { rights: ['work.submit'] })]) {
    await page.signIn(token)
    await page.shows('does not permit this')
    await page.shows('Access token')
  }
  t.same(page.faults, [])
})

t.test('an answer that never comes is given up, and asked for again', async (t) => {
  const s = await startTestService(t)
  await s.project('shop')
  let lost = 0
  const page = await Page.open(t, s.service.url, { loses: (path) => path === '/api/projects/shop' && lost++ === 0 })
  await page.signIn(s.admin)
  await page.shows('Nothing waits.')
  page.go('#/projects/shop')
  await page.shows('The service cannot be reached')
  await page.shows('Formation briefs')
  t.same(page.faults, [])
})

t.test('a page whose token is revoked asks for another one, whatever it shows', async (t) => {
  const s = await startTestService(t)
  const page = await Page.open(t, s.service.url)
  const { body: made } = await s.expect(201, 'POST', '/api/tokens', { name: 'ada', roles: ['viewer'] })
  await page.signIn(made.token)
  page.go('#/projects')
  await page.shows('No projects.')
  await page.shows('live')
  await s.expect(204, 'DELETE', `/api/tokens/${made.id}`)
  await page.shows('Access token')
  t.not(page.find('.problem'), null, 'and says why')
  t.same(page.faults, [])
})

t.test('a longer list takes the place of the shorter one, which stays until then', async (t) => {
  const s = await startTestService(t)
  await s.project('shop')
  for (let n = 0; n < 60; n++) await submit(s, { objective: `Task ${n}` })
  const page = await Page.open(t, s.service.url)
  await page.signIn(s.admin)
  page.go('#/items')
  await page.shows('More')
  const row = page.find('tbody tr')
  await page.press('More')
  await page.shows('Task 0')
  t.equal(page.find('tbody tr'), row)
  t.same(page.faults, [])
})

t.test('a person weighs a project, sees the weight, changes and ends it', async (t) => {
  const s = await startTestService(t)
  await fleet(s, 'shop')
  const page = await Page.open(t, s.service.url)
  await page.signIn(s.admin)
  await page.press('Weigh a project')
  await page.shows('It gets that many turns while others get one each')
  page.fill('project', 'shop')
  page.fill('weight', '3')
  page.submit('dialog form')
  await page.shows('shop weight 3')
  await page.press('Change weight')
  page.fill('weight', '5')
  page.submit('dialog form')
  await page.shows('shop weight 5')
  await page.press('End weight')
  await page.shows('The project shop gets as many turns as others.')
  page.submit('dialog form')
  const weights = async () => (await s.expect(200, 'GET', '/api/pacing')).body.weights
  await until(weights, ({ length }) => length === 0)
  await until(
    async () => page.named('button', 'End weight'),
    (button) => button === undefined,
  )
  t.same(page.faults, [])
})

t.test('a person limits a label, sees how many of its runs are under way, changes the limit and ends it', async (t) => {
  const s = await startTestService(t)
  await fleet(s, 'shop')
  await submit(s, { labels: ['gpu'] })
  const page = await Page.open(t, s.service.url)
  await page.signIn(s.admin)
  await page.press('Limit a label')
  await page.shows('No more runs that require it are under way at the same time.')
  page.fill('label', 'gpu')
  page.fill('max_running', '0')
  page.submit('dialog form')
  await page.shows('gpu 0 of 0 under way')
  await page.shows('label gpu is limited to 0')
  await page.press('Change limit')
  page.fill('max_running', '2')
  page.submit('dialog form')
  await page.shows('of 2 under way')
  await page.press('End limit')
  await page.shows('Runs with the label gpu start, however many are under way.')
  page.submit('dialog form')
  const limits = async () => (await s.expect(200, 'GET', '/api/pacing')).body.label_limits
  await until(limits, ({ length }) => length === 0)
  await until(
    async () => page.named('button', 'End limit'),
    (button) => button === undefined,
  )
  t.same(page.faults, [])
})

t.test('what the service refuses is shown in its words, and the dialog stays', async (t) => {
  const s = await startTestService(t)
  await fleet(s, 'shop')
  await s.expect(200, 'POST', '/api/pacing/pause', {})
  const item = await submit(s)
  const page = await Page.open(t, s.service.url)
  await page.signIn(s.admin)
  page.go(`#/items/${item.id}`)
  await page.press('Hold')
  await page.shows('It does not start until somebody releases it.')
  await s.expect(200, 'POST', `/api/work-items/${item.id}/cancel`, {})
  page.submit('dialog form')
  await page.shows('Only queued items can be held: it is cancelled.')
  t.not(page.find('dialog'), null)
  t.same(page.faults, [])
})

t.test('a token is offered what it may do, and told which right it lacks for the rest', async (t) => {
  const s = await startTestService(t)
  await fleet(s, 'shop')
  await s.expect(200, 'POST', '/api/pacing/pause', {})
  const item = await submit(s)
  const page = await Page.open(t, s.service.url)
  await page.signIn(await s.token('looker', { roles: ['viewer'], rights: ['work.submit'] }))
  await page.shows('looker')
  page.go('#/items')
  await page.shows('New task')
  page.go(`#/items/${item.id}`)
  await page.shows('Hold, Cancel: needs work.operate')
  for (const label of ['Hold', 'Cancel']) t.equal(page.named('button', label), undefined)
  page.go('#/')
  await page.shows('Resume: needs work.operate')
  t.same(page.faults, [])
})

t.test('the overview shows unfinished campaigns, and runs that no item has asked for', async (t) => {
  const s = await startTestService(t)
  await s.project('shop')
  const page = await Page.open(t, s.service.url)
  await page.signIn(s.admin)
  await page.shows('Nothing waits.')
  t.notMatch(page.text, /Campaigns.*Campaigns|outside the ledger/)
  const gate = { kind: 'review', statement: 'It is tidy.' }
  const campaign = { name: 'spring', project: 'shop', mission: 'Be tidy', done_evidence: [gate] }
  await s.expect(201, 'POST', '/api/campaigns', campaign)
  await s.expect(201, 'POST', '/api/projects/shop/run-requests', {
    entry_event: 'greet_requested',
    payload: { name: 'Ada' },
  })
  await page.shows('Be tidy')
  await page.shows('greet_requested')
  t.not(page.named('h2', 'Runs outside the ledger'), undefined)
  t.match(page.find('table[aria-label="Runs outside the ledger"]').textContent, /greet_requested/)
  await s.expect(200, 'POST', '/api/campaigns/spring/cancel', { reason: 'not wanted' })
  await page.showsNo('Be tidy')
  t.same(page.faults, [])
})

t.test('ages follow the clock of the service, wherever that of the browser is', async (t) => {
  const s = await startTestService(t)
  await s.project('shop')
  await submit(s)
  for (const aheadMs of [3_600_000, -3_600_000]) {
    const page = await Page.open(t, s.service.url, { aheadMs })
    await page.signIn(s.admin)
    page.go('#/items')
    await page.shows('Tidy up')
    const [age] = page.texts('td time')
    // `Date` has whole seconds.
    t.match(age, /^(in )?\d\d?s$/, `${aheadMs} ms ahead`)
    t.same(page.faults, [])
  }
})

t.test('an operator sees when agents last wrote, what they cost, where work is kept, and what has ended', async (t) => {
  const s = await startTestService(t)
  const runner = await fleet(s, 'shop')
  const { id } = await submit(s, { objective: 'Tidy up' })
  const run = await begin(s, runner)
  const at = new Date().toISOString()
  const session = { project: 'shop', trace_id: run.trace.trace_id, session_id: 's1' }
  const launched = { agent_type: 'claude', working_dir: '/w', source_log_path: '/l', capability: 'coding' }
  const say = async (event_type: string, payload: object): Promise<void> => {
    const events = [{ event_type, occurred_at: at, payload: { ...session, ...payload } }]
    await s.expect(200, 'POST', `/api/run-requests/${run.request_id}/events`, { events }, runner)
  }
  await say('agent_session_started', { ...launched, access: 'full', started_at: at })
  const heard = { sessions: [{ session_id: 's1', bytes_written: 10, last_output_at: at }] }
  await s.expect(200, 'POST', `/api/run-requests/${run.request_id}/heartbeat`, heard, runner)
  const page = await Page.open(t, s.service.url)
  await page.signIn(s.admin)
  await page.shows('running on r1')
  await until(
    async () => page.texts('th').includes('Last output') && page.texts('tbody time').length === 2,
    (isThere) => isThere,
  )
  page.go('#/sessions')
  await page.shows('1 session in the last 24 hours: no cost told')
  await say('agent_session_ended', { ended_at: at, status: 'ok', bytes_written: 10, cost: { USD: 0.25 } })
  await page.shows('1 session in the last 24 hours: 0.25 USD')
  const { finding: _, options: __, ...stopped } = ASKS
  const kept = { ...stopped, verdict: 'remainder', gaps: ['tests'], preservation_ref: 'refs/heads/kept' }
  await finish(s, runner, run.request_id, kept)
  page.go(`#/items/${id}`)
  await page.shows('(kept: refs/heads/kept)')
  page.go('#/')
  await page.shows('(kept: refs/heads/kept)')
  page.go('#/events')
  await page.press('what has ended', 'a')
  await page.shows('work_item_settled')
  await page.showsNo('work_item_submitted')
  t.same(page.faults, [])
})

t.test('the overview of one project counts what is in it', async (t) => {
  const s = await startTestService(t)
  for (const key of ['shop', 'bank']) await s.project(key)
  await s.expect(200, 'POST', '/api/pacing/pause', {})
  for (const [n, project] of ['shop', 'shop', 'bank'].entries())
    await submit(s, { project, objective: `Tidy the ${project}, part ${n}` })
  const page = await Page.open(t, s.service.url)
  await page.signIn(s.admin)
  await page.shows('3 waiting')
  await page.shows('All projectsbankshop')
  page.choose('[aria-label=Project]', 'bank')
  await page.shows('1 waiting')
  await page.showsNo('Tidy the shop')
  await page.shows('0 running or handed out')
  await s.expect(200, 'PATCH', '/api/projects/bank', { archived: true })
  await page.shows('3 waiting')
  t.same(page.faults, [])
})

t.test('the chosen project is in the address: links, a reload and the way back keep it', async (t) => {
  const s = await startTestService(t)
  for (const key of ['shop', 'bank']) await s.project(key)
  await s.expect(200, 'POST', '/api/pacing/pause', {})
  const { id } = await submit(s, { project: 'shop', objective: 'Tidy the shop' })
  await submit(s, { project: 'bank', objective: 'Tidy the bank' })
  const page = await Page.open(t, s.service.url)
  await page.signIn(s.admin)
  await page.shows('Tidy the bank')
  await page.shows('All projectsbankshop')
  page.choose('[aria-label=Project]', 'shop')
  await page.showsNo('Tidy the bank')
  t.equal(page.hash, '#/?project=shop')
  for (const [hash, text] of [
    ['#/', 'Tidy the shop'],
    ['#/items', 'New task'],
    [`#/items/${id}`, 'work_item_submitted'],
    ['#/projects', 'Repository'],
    ['#/runs', 'No run requests.'],
    ['#/events', 'Filter'],
  ] as const) {
    page.go(`${hash}?project=shop`)
    await page.shows(text)
    t.same(
      page.links.filter((href) => !href.endsWith('project=shop')),
      [],
      hash,
    )
  }
  page.fill('types', 'work_item_submitted')
  page.submit('form.filters')
  t.equal(page.hash, '#/events?types=work_item_submitted&project=shop')
  page.fill('id', id)
  page.submit('.go-to')
  await until(
    async () => page.hash,
    (hash) => hash === `#/items/${id}?project=shop`,
  )
  page.choose('[aria-label=Project]', '')
  await until(
    async () => page.hash,
    (hash) => hash === `#/items/${id}`,
  )
  page.back()
  await until(
    async () => page.find('[aria-label=Project]').value,
    (chosen) => chosen === 'shop',
  )
  t.same(page.faults, [])

  const again = await Page.open(t, `${s.service.url}/#/items?project=bank`)
  await again.signIn(s.admin)
  await again.shows('Tidy the bank')
  await again.isTitled('Work in bank – Intendant')
  t.notMatch(again.text, /Tidy the shop/)
  t.equal(again.find('[aria-label=Project]').value, 'bank')
  t.same(
    again.requests.filter((path) => path.startsWith('/api/work-items?') && !path.includes('project=bank')),
    [],
    'not even while the projects are being read',
  )
  t.same(again.faults, [])
})

t.test('a page begins at its top, has a title, and is reached by an id or the first digits of one', async (t) => {
  const s = await startTestService(t)
  await fleet(s, 'shop')
  const { id } = await submit(s, { objective: 'Tidy up' })
  const page = await Page.open(t, s.service.url)
  await page.signIn(s.admin)
  await page.shows('live')
  const root = page.find('html')
  for (const given of [id, id.slice(0, 11)]) {
    page.go('#/items')
    await page.shows('New task')
    root.scrollTop = 500
    page.fill('id', given)
    page.submit('.go-to')
    await page.shows('work_item_submitted')
    t.equal(page.hash, `#/items/${id}`)
    t.equal(root.scrollTop, 0)
    t.equal(page.find('main:focus') === null, false)
    await page.isTitled(`Work ${id.slice(0, 11)} – Intendant`)
  }
  page.fill('id', 'wi_000000000')
  page.submit('.go-to')
  await until(
    async () => page.find('.go-to input').validationMessage,
    (message) => /none of the newest/.test(message),
  )
  t.equal(page.hash, `#/items/${id}`)
  await page.press('Sign out')
  await page.shows('Access token')
  await page.isTitled('Sign in – Intendant')
  t.same(page.faults, [])
})

t.test('an owner answers one of several questions of an initiative by choosing it', async (t) => {
  const s = await startTestService(t)
  const w = await world(s)
  await steer(w, 't1', { decision: 'ask', question: 'Which bank?' })
  await answer(w, { decision: 'ask', question: 'Which day?', member: SHOP })
  await steered(w, 2)
  const page = await Page.open(t, s.service.url)
  await page.signIn(s.admin)
  page.go(`#/initiatives/${NAME}`)
  await page.press('Decide')
  await page.shows('Which of its questions this answers')
  const [bank, day] = (await read(w)).questions
  t.same(page.texts('dialog option'), ['All of them', 'Which bank?', 'shop: Which day?'])
  page.fill('decision', 'Monday')
  page.fill('question_id', day.id)
  page.submit('dialog form')
  await until(
    async () => (await read(w)).questions,
    (questions) => questions.length === 1,
  )
  t.match((await read(w)).questions, [bank])
  t.same(page.faults, [])
})

t.test('a brief is approved as it was shown, in every state in which it can be approved', async (t) => {
  const s = await startTestService(t)
  const record = await acceptedRecord(s, await s.project('shop'), 'tidy')
  const brief = await briefIn(s, 'reviewable', 'shop', sectionsFor(record))
  const read = async () => (await s.expect(200, 'GET', `/api/formation-briefs/${brief.id}`)).body
  const page = await Page.open(t, s.service.url)
  await page.signIn(s.admin)
  page.go(`#/briefs/${brief.id}`)
  await page.press('Approve')
  await page.shows('Runs may follow it as it reads now.')
  await s.expect(200, 'PATCH', `/api/formation-briefs/${brief.id}`, { title: 'New' })
  await page.shows('New')
  page.submit('dialog form')
  await page.shows('Changed since you read it')
  t.equal((await read()).state, 'reviewable')
  await page.press('Back')
  await page.showsNo('Runs may follow it as it reads now.')
  for (const throttle of ['dry_run', 'full']) {
    await page.press('Approve')
    await page.shows('Runs may follow it as it reads now.')
    page.fill('throttle', throttle)
    page.submit('dialog form')
    await until(read, ({ approvals }) => approvals?.some((one: any) => one.throttle === throttle))
    await page.showsNo('Runs may follow it as it reads now.')
  }
  t.same(page.faults, [])
})

t.test('a confined token shows its projects, and what it may not see does not exist', async (t) => {
  const s = await startTestService(t)
  await fleet(s, 'shop', 'bank')
  await submit(s, { objective: 'Seen' })
  const hidden = await submit(s, { project: 'bank', objective: 'Hidden' })
  const page = await Page.open(t, s.service.url)
  await page.signIn(await s.token('confined', { roles: ['viewer'], projects: ['shop'] }))
  await page.shows('Seen')
  await page.shows('1 of 4 running or handed out')
  page.go(`#/items/${hidden.id}`)
  await page.shows('There is no work item')
  t.notMatch(page.text, /Hidden/)
  t.same(page.faults, [])
})

t.test('every kind of thing has a list, a page, and its history', async (t) => {
  const s = await startTestService(t)
  const runner = await fleet(s, 'shop')
  await submit(s, { objective: 'Tidy up' })
  const run = await begin(s, runner)
  const at = new Date().toISOString()
  const said = {
    event_type: 'run_output',
    occurred_at: at,
    payload: { stream: 'stdout', text: '\u001b[32mdone\u001b[0m at last\n' },
  }
  await s.expect(200, 'POST', `/api/run-requests/${run.request_id}/events`, { events: [said] }, runner)
  const gate = { kind: 'review', statement: 'It is tidy.' }
  await s.expect(201, 'POST', '/api/campaigns', {
    name: 'spring',
    project: 'shop',
    mission: 'Be tidy',
    done_evidence: [gate],
  })
  const members = [{ kind: 'campaign', ref: 'spring' }]
  await s.expect(201, 'POST', '/api/initiatives', { name: 'order', outcome: 'All is tidy', members })
  const record = { slug: 'tidy', title: 'It stays tidy', expectation: 'Always.', confidence: 0.5 }
  const { body: intent } = await s.expect(201, 'POST', '/api/projects/shop/intent-records', record)
  const { body: brief } = await s.expect(201, 'POST', '/api/projects/shop/formation-briefs', {
    title: 'Tidying',
    mission: { objective: 'Tidy up' },
  })
  const page = await Page.open(t, s.service.url)
  await page.signIn(s.admin)
  for (const [hash, text] of [
    ['#/items', 'Tidy up'],
    ['#/items?state=landed', 'No work items.'],
    ['#/runs', 'execution_requested'],
    [`#/runs/${run.request_id}`, 'done at last'],
    ['#/runners', '1 of 4'],
    ['#/runners/r1', 'in flight'],
    ['#/campaigns', 'Be tidy'],
    ['#/campaigns/spring', 'campaign_added'],
    ['#/initiatives', 'All is tidy'],
    ['#/initiatives/order', 'initiative_added'],
    ['#/intent', 'Choose a project above.'],
    [`#/intent/${intent.id}`, 'It stays tidy'],
    [`#/briefs/${brief.id}`, 'Tidying'],
    ['#/sessions', 'No agent sessions.'],
    ['#/projects', 'Repository'],
    ['#/projects/shop', 'Formation briefs'],
    [`#/traces/${run.trace.trace_id}`, 'work_item_submitted'],
    ['#/events', 'initiative_added'],
    ['#/events?types=campaign_added', 'campaign_added'],
    ['#/nowhere', 'There is no such page'],
  ] as const) {
    page.go(hash)
    await page.shows(text)
    t.equal(page.find('.problem'), null, hash)
    t.equal(page.find('table:not([aria-label])'), null, `${hash}: each table says what it lists`)
  }
  t.same(page.faults, [])
})

t.test('events are told once and in order, and older ones come when somebody asks', async (t) => {
  const s = await startTestService(t)
  await s.project('shop')
  const told = async (from: number, to: number): Promise<void> => {
    for (let n = from; n < to; n++)
      await s.expect(200, 'POST', '/api/events', {
        events: [{ event_type: 'counted', project: 'shop', occurred_at: AT, payload: { name: `n${n}`, item_id: 'i' } }],
      })
  }
  await told(0, 70)
  const page = await Page.open(t, s.service.url)
  await page.signIn(s.admin)
  page.go('#/events?types=counted')
  await page.shows('n69')
  await page.shows('live')
  await told(70, 75)
  await s.project('bank')
  await page.shows('n74')
  await page.press('Older')
  await page.shows('n0')
  const shown = page.texts('summary').map((text) => Number(/n(\d+)$/.exec(text)?.[1]))
  t.same(
    shown,
    Array.from({ length: 75 }, (_, n) => 74 - n),
  )
  t.same(page.faults, [])
})

t.test('an open page is told what it shows: what runs print comes to their pages alone', async (t) => {
  const s = await startTestService(t)
  const runner = await fleet(s, 'shop', 'bank')
  const print = async (run: any, text: string): Promise<void> => {
    const said = { event_type: 'run_output', occurred_at: AT, payload: { stream: 'stdout', text } }
    await s.expect(200, 'POST', `/api/run-requests/${run.request_id}/events`, { events: [said] }, runner)
  }
  await submit(s, { objective: 'Tidy the shop' })
  const run = await begin(s, runner)
  await submit(s, { objective: 'Tidy the bank', project: 'bank' })
  const other = await begin(s, runner)
  const page = await Page.open(t, s.service.url)
  await page.signIn(s.admin)
  await page.shows('Tidy the bank')
  await page.shows('live')
  await print(run, 'first')
  await submit(s, { objective: 'Tidy up' })
  await page.shows('Tidy up')
  t.notMatch(page.frames.join(), /first/)
  page.go(`#/runs/${run.request_id}`)
  await page.shows('first')
  await print(other, 'of another')
  for (const text of ['second', 'third']) {
    await print(run, text)
    await page.shows(text)
  }
  t.notMatch(page.frames.join(), /of another/)
  page.go('#/intent?project=shop')
  await page.shows('No intent records.')
  await acceptedRecord(s, (await s.expect(200, 'GET', '/api/projects/shop')).body, 'tidy')
  await page.shows('tidy')
  page.go('#/')
  await page.shows('Tidy up')
  await submit(s, { objective: 'Sweep' })
  await page.shows('Sweep')
  t.same(page.faults, [])
})

t.test('what a run prints is added to what is shown, which is not read again', async (t) => {
  const s = await startTestService(t)
  const runner = await fleet(s, 'shop')
  await submit(s)
  const run = await begin(s, runner)
  const print = async (text: string): Promise<void> => {
    const said = { event_type: 'run_output', occurred_at: AT, payload: { stream: 'stdout', text } }
    await s.expect(200, 'POST', `/api/run-requests/${run.request_id}/events`, { events: [said] }, runner)
  }
  await print('line 0\n')
  const page = await Page.open(t, s.service.url)
  await page.signIn(s.admin)
  page.go(`#/runs/${run.request_id}`)
  await page.shows('line 0')
  await page.shows('live')
  for (const n of [1, 2, 3]) {
    await print(`line ${n}\n`)
    await page.shows(`line ${n}`)
    await setTimeout(1_000)
  }
  t.equal(page.find('.output').textContent, 'line 0\nline 1\nline 2\nline 3\n')
  t.equal(page.requests.filter((path) => path.includes('run_output')).length, 1)
  t.same(page.faults, [])
})

t.test('of much that a run prints the last part is shown, and where all of it is', async (t) => {
  const s = await startTestService(t)
  const runner = await fleet(s, 'shop')
  await submit(s)
  const run = await begin(s, runner)
  const lines = 'a line of the output\n'.repeat(3_000)
  const events = ['first\n', 'second\n', 'the end\n'].map((last) => ({
    ...{ event_type: 'run_output', occurred_at: AT },
    payload: { stream: 'stdout', text: lines + last },
  }))
  await s.expect(200, 'POST', `/api/run-requests/${run.request_id}/events`, { events }, runner)
  const page = await Page.open(t, s.service.url)
  await page.signIn(s.admin)
  page.go(`#/runs/${run.request_id}`)
  await page.shows('All of it: intendant run-request log')
  const shown = page.find('.output').textContent
  t.match(shown, /^a line of the output\n/)
  t.ok(shown.endsWith('the end\n'))
  t.ok(shown.length > 130_000 && shown.length <= 131_072, String(shown.length))
  t.same(page.faults, [])
})

t.test('a page shows a document whatever it holds', async (t) => {
  const s = await startTestService(t)
  await s.project('shop')
  const payload = {
    when: '2026-13-45T99:99:99Z',
    constructor: 'not a page',
    named: 'constructor_0a1b2c3d4e5f60718293a4b5',
    outcome: 'Customers trust our prices.',
    objective: 'Tidy \u202e pu',
    many: Array.from({ length: 1_000 }, (_, n) => n),
  }
  const { body: run } = await s.expect(201, 'POST', '/api/projects/shop/run-requests', { entry_event: 'x', payload })
  const page = await Page.open(t, s.service.url)
  await page.signIn(s.admin)
  page.go(`#/runs/${run.id}`)
  await page.shows('queued No runner')
  await page.shows('2026-13-45T99:99:99Z')
  await page.shows('Tidy \\u{202e} pu')
  t.equal(page.find('a[href*=function]'), null)
  t.equal(page.named('.state', 'Customers trust our prices.'), undefined)
  // An id may have these digits, too.
  t.equal(page.named('li', '999'), undefined)
  await page.press('All 1000')
  await until(
    async () => page.named('li', '999'),
    (last) => last !== undefined,
  )
  t.same(page.faults, [])
})

t.test('a page that cannot show a document says so, and the frame and the other pages work', async (t) => {
  const s = await startTestService(t)
  await s.project('shop')
  const gate = { kind: 'review', statement: 'It is tidy.' }
  const campaign = { name: 'spring', project: 'shop', mission: 'Be tidy', done_evidence: [gate] }
  await s.expect(201, 'POST', '/api/campaigns', campaign)
  let isBroken = true
  const changes = (path: string, body: any): unknown => {
    if (isBroken && path.startsWith('/api/campaigns')) for (const one of body.items) delete one.budget
    return body
  }
  const page = await Page.open(t, s.service.url, { changes })
  await page.signIn(s.admin)
  page.go('#/campaigns')
  await page.shows('The console failed')
  t.match(page.find('[role=alert]').textContent, /TypeError/)
  page.go('#/projects')
  await page.shows('Repository')
  await page.showsNo('The console failed')
  page.go('#/campaigns')
  await page.shows('The console failed')
  isBroken = false
  await page.press('Try again')
  await page.shows('Be tidy')
  await page.showsNo('The console failed')
  t.same(page.faults, [])
})

t.test('the page follows the events again when the service is back', async (t) => {
  const home = t.testdir()
  const options = {
    openJournal: (onFailure: (failure: Error) => void) => openDiskJournal({ home, onFailure } as never),
  }
  let s = await startTestService(t, { home }, options)
  await fleet(s, 'shop')
  const page = await Page.open(t, await relayed(t, () => s))
  await page.signIn(s.admin)
  await page.shows('live')
  await s.service.close()
  await page.shows('connecting')
  page.go('#/projects')
  await page.shows('The service cannot be reached')
  s = await startTestService(t, { home }, options)
  await page.shows('live')
  await page.showsNo('The service cannot be reached')
  t.not(page.find('td a[href="#/projects/shop"]'), null, 'what could not be read is read, though no event tells of it')
  page.go('#/')
  await submit(s, { objective: 'After the restart' })
  await page.shows('After the restart')
  t.same(page.faults, [])
})

t.test('what a restored log does not hold any more is not shown', async (t) => {
  const home = `${t.testdir()}/now`
  const copy = `${t.testdir()}/then`
  const of = (home: string) => ({
    openJournal: (onFailure: (failure: Error) => void) => openDiskJournal({ home, onFailure } as never),
  })
  let s = await startTestService(t, { home }, of(home))
  await s.project('shop')
  await s.service.close()
  await cp(home, copy, { recursive: true })
  s = await startTestService(t, { home }, of(home))
  const page = await Page.open(t, await relayed(t, () => s))
  await page.signIn(s.admin)
  const item = await submit(s, { objective: 'Made after the backup' })
  page.go(`#/items/${item.id}`)
  await page.shows('Made after the backup')
  await page.shows('live')
  await s.service.close()
  s = await startTestService(t, { home: copy }, of(copy))
  await page.shows('There is no work item')
  t.notMatch(page.text, /Made after the backup/)
  page.go('#/events')
  await page.shows('project_created')
  t.notMatch(page.text, /work_item/)
  await page.shows('live')
  t.same(page.faults, [])
})

/** An address that stays while the service behind it is another one. */
async function relayed(t: Test, current: () => TestService): Promise<string> {
  const relay = createServer((incoming) => {
    const outgoing = connect(Number(new URL(current().service.url).port), '127.0.0.1')
    pipeline(incoming, outgoing, incoming, () => {})
  })
  relay.listen(0, '127.0.0.1')
  await once(relay, 'listening')
  t.teardown(() => relay.close())
  return `http://127.0.0.1:${(relay.address() as AddressInfo).port}/`
}
