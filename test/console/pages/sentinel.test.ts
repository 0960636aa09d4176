/** Sentinels in the console: their list, the page of one, and what can be done there. */
import t from 'tap'
import { begin, finish, fleet, submit } from '../../http/ledger-harness.ts'
import { startTestService, type TestService } from '../../http/service-harness.ts'
import { until } from '../../until.ts'
import { Page } from '../page-harness.ts'

const NIGHTLY = {
  name: 'nightly',
  project: 'shop',
  cron: '30 2 * * 1-5',
  time_zone: 'Europe/Berlin',
  item: { objective: 'Update the dependencies', labels: ['linux'] },
}

async function add(s: TestService, more: object = {}): Promise<void> {
  await s.expect(201, 'POST', '/api/sentinels', { ...NIGHTLY, ...more })
}

const sentinel = (s: TestService) => async () => (await s.expect(200, 'GET', '/api/sentinels/nightly')).body
const fire = (s: TestService) => s.expect(200, 'POST', '/api/sentinels/nightly/fire', {})

t.test('the list tells when sentinels fall due, and what came of the last time, as it happens', async (t) => {
  const s = await startTestService(t)
  const runner = await fleet(s, 'shop')
  await add(s, { item: { objective: 'Update the dependencies' } })
  const page = await Page.open(t, s.service.url)
  await page.signIn(s.admin)
  page.go('#/sentinels')
  await page.shows('30 2 * * 1-5 Europe/Berlin')
  await page.shows('live')
  t.match(page.text, /in \d/, 'when it falls due next')
  await fire(s)
  await page.shows('queued')
  const run = await begin(s, runner)
  await finish(s, runner, run.request_id)
  await page.shows('landed')
  const { body: other } = await s.expect(200, 'GET', '/api/work-items?source=sentinel:nightly')
  t.ok(page.links.includes(`#/items/${other.items[0].id}`))
  t.notOk(
    page.requests.some((path) => path.startsWith('/api/work-items/')),
    'the list tells it, in one request',
  )
  await submit(s, { objective: 'Update the dependencies' })
  await fire(s)
  await page.shows('nothing: duplicate')
  await s.expect(200, 'POST', '/api/sentinels/nightly/pause', {})
  await until(
    async () => page.texts('td .state'),
    ([state]) => state === 'paused',
  )
  t.same(page.faults, [])
})

t.test('a sentinel is added, fired, edited, paused, resumed and removed', async (t) => {
  const s = await startTestService(t)
  await fleet(s, 'shop')
  const read = sentinel(s)
  const page = await Page.open(t, s.service.url)
  await page.signIn(s.admin)
  page.go('#/sentinels?project=shop')
  await page.shows('No sentinels.')
  await page.shows('All projectsshop')
  await page.press('New sentinel')
  await page.shows('Time zone')
  for (const [name, value] of Object.entries({ name: 'nightly', objective: 'Tidy up', cron: 'at noon' }))
    page.fill(name, value)
  page.submit('dialog form')
  await page.shows('/cron')
  page.fill('cron', '0 4 * * *')
  page.fill('time_zone', 'UTC')
  page.submit('dialog form')
  await page.shows('it has not fallen due yet')
  t.equal(page.hash, '#/sentinels/nightly?project=shop')
  t.match(await read(), { cron: '0 4 * * *', time_zone: 'UTC', item: { objective: 'Tidy up', kind: 'task' } })

  await page.press('Fire now')
  await page.shows('whatever the time')
  page.submit('dialog form')
  await page.shows('it submitted wi_')
  const { item_id: id } = (await read()).last
  await until(
    async () => page.links.filter((href) => href.startsWith(`#/items/${id}`)).length,
    (count) => count > 1,
  )

  await s.expect(200, 'PATCH', '/api/sentinels/nightly', { item: NIGHTLY.item })
  await page.shows('Update the dependencies')
  await page.press('Edit')
  await page.shows('in the name of this token')
  t.equal(page.find('[name=objective]').value, 'Update the dependencies')
  page.fill('objective', 'Update all of them')
  page.fill('cron', '0 5 * * *')
  page.submit('dialog form')
  await until(read, ({ cron }) => cron === '0 5 * * *')
  t.same((await read()).item, { objective: 'Update all of them', labels: ['linux'] }, 'what is not asked stays')

  for (const [label, state] of [
    ['Pause', 'paused'],
    ['Resume', 'active'],
    ['Remove', 'removed'],
  ] as const) {
    await page.press(label)
    await until(
      async () => page.find('dialog h2')?.textContent,
      (shown) => shown === label,
    )
    t.not((await read()).state, state, `${label} asks first`)
    page.submit('dialog form')
    await until(read, (one) => one.state === state)
    await until(
      async () => page.named('button', label),
      (button) => button === undefined,
    )
  }
  t.equal(page.named('button', 'Fire now'), undefined, 'nothing can be done about one that was removed')
  await page.shows('sentinel_removed')
  t.same(page.faults, [])
})

t.test('a token is offered what it may do about a sentinel', async (t) => {
  const s = await startTestService(t)
  await s.project('shop')
  await add(s)
  const page = await Page.open(t, s.service.url)
  await page.signIn(await s.token('looker', { roles: ['viewer'], rights: ['work.submit'] }))
  page.go('#/sentinels/nightly')
  await page.shows('Fire now, Pause, Remove: needs work.operate')
  t.not(page.named('button', 'Edit'), undefined)
  t.equal(page.named('button', 'Fire now'), undefined)
  t.same(page.faults, [])
})

t.test('an item that a sentinel has submitted leads to it', async (t) => {
  const s = await startTestService(t)
  await s.project('shop')
  await add(s)
  const { last } = (await fire(s)).body
  const page = await Page.open(t, s.service.url)
  await page.signIn(s.admin)
  page.go(`#/items/${last.item_id}`)
  await page.shows('work_item_submitted')
  t.ok(page.links.includes('#/sentinels/nightly'))
  t.same(page.faults, [])
})
