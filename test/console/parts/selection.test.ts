/** Many rows at once: selecting them, what is confirmed, and what is told of those that were refused. */
import t from 'tap'
import { fleet, reading, submit } from '../../http/ledger-harness.ts'
import { startTestService } from '../../http/service-harness.ts'
import { until } from '../../until.ts'
import { Page } from '../page-harness.ts'

const ALL = '[aria-label="Select all rows shown"]'

async function isThere(page: Page, selector: string): Promise<void> {
  await until(
    async () => page.find(selector),
    (element) => element !== null,
  )
}

t.test('all requests that match are selected, counted and cancelled, also those that are not shown', async (t) => {
  const s = await startTestService(t)
  for (const key of ['shop', 'bank']) await s.project(key)
  for (let n = 0; n < 60; n++) await s.request('shop', { payload: { name: `n${n}` } })
  const other = await s.request('bank')
  const page = await Page.open(t, s.service.url)
  await page.signIn(s.admin)
  page.go('#/runs?state=queued&project=shop')
  await isThere(page, ALL)
  page.find(ALL).click()
  await page.shows('50 rows selected')
  await page.press('Select all that match')
  await page.shows('60 rows selected')
  await page.press('Cancel 60')
  await page.shows('Of each of these 60')
  const { items } = (await s.expect(200, 'GET', '/api/run-requests?project=shop&limit=500')).body
  t.ok(
    items.every(({ state }: any) => state === 'queued'),
    'nothing is done before it is confirmed',
  )
  page.fill('reason', 'not wanted')
  page.submit('dialog form')
  await page.shows('60 of 60 done')
  const { body: after } = await s.expect(200, 'GET', '/api/run-requests?project=shop&state=cancelled&limit=500')
  t.equal(after.items.length, 60)
  t.match(after.items[0].cancel, { reason: 'not wanted' })
  t.equal((await s.expect(200, 'GET', `/api/run-requests/${other.id}`)).body.state, 'queued')
  await page.press('Close')
  await page.shows('No run requests.')
  await page.showsNo('rows selected')
  t.same(page.faults, [])
})

t.test('of those that are refused each is named with the reason, and the others are done', async (t) => {
  const s = await startTestService(t)
  await fleet(s, 'shop')
  await s.expect(200, 'POST', '/api/pacing/pause', {})
  const items = []
  for (let n = 0; n < 3; n++) items.push(await submit(s, { objective: `Task ${n}` }))
  const page = await Page.open(t, s.service.url)
  await page.signIn(s.admin)
  page.go('#/items')
  await isThere(page, `[aria-label="Select ${items[0].id}"]`)
  for (const { id } of items) {
    page.find(`[aria-label="Select ${id}"]`).click()
    await isThere(page, `tr.chosen [aria-label="Select ${id}"]`)
  }
  await page.press('Hold 3')
  await page.shows('Of each of these 3')
  await s.expect(200, 'POST', `/api/work-items/${items[1].id}/cancel`, {})
  page.submit('dialog form')
  await page.shows('2 of 3 done, 1 refused:')
  await page.shows('Only queued items can be held: it is cancelled.')
  for (const at of [0, 2]) t.equal((await reading(s, items[at].id)()).state, 'held')
  await page.press('Close')
  await page.showsNo('rows selected')
  t.same(page.faults, [])
})

t.test('a token that may not act on them is offered nothing for many', async (t) => {
  const s = await startTestService(t)
  await fleet(s, 'shop')
  await s.expect(200, 'POST', '/api/pacing/pause', {})
  await submit(s)
  const page = await Page.open(t, s.service.url)
  await page.signIn(await s.token('looker', { roles: ['viewer'] }))
  await page.shows('looker')
  page.go('#/items')
  await isThere(page, ALL)
  page.find(ALL).click()
  await page.shows('1 row selected')
  t.equal(page.named('button', 'Hold 1'), undefined)
  t.same(page.faults, [])
})
