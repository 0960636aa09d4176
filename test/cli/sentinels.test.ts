import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { cli, service } from './in-process.ts'

const NIGHTLY = {
  name: 'nightly',
  project: 'shop',
  state: 'active',
  cron: '30 2 * * *',
  time_zone: 'UTC',
  item: { objective: 'Update the dependencies', kind: 'maintenance', labels: ['linux', 'gpu'] },
  next_at: '2030-01-31T02:30:00.000Z',
  fired: 3,
  by: { id: 'tok_1', name: 'ada' },
  created_at: '2030-01-01T00:00:00.000Z',
}
const ITEM = `wi_${'a'.repeat(24)}`

t.test('sentinel add sends when and what, from the operand or a file', async (t) => {
  const { env, asked } = await service(t, () => [201, NIGHTLY])
  const add = (...more: string[]) => cli(env, 'sentinel', 'add', 'nightly', 'shop', ...more)
  const { code, out } = await add('Update', 'it', '--cron', '30 2 * * *', '--kind', 'maintenance', '--timeout', '2h')
  t.same([code, out], [0, 'nightly is active; next: 2030-01-31T02:30:00.000Z\n'])
  t.match(asked.at(-1), {
    method: 'POST',
    url: '/api/sentinels',
    body: {
      name: 'nightly',
      project: 'shop',
      cron: '30 2 * * *',
      time_zone: 'UTC',
      item: { objective: 'Update it', kind: 'maintenance', timeout_seconds: 7_200 },
    },
  })
  const file = join(t.testdir(), 'what.md')
  writeFileSync(file, 'Tidy up\n')
  await add('--file', file, '--cron', '0 9 * * MON', '--time-zone', 'Europe/Berlin', '--label', 'gpu', '--json')
  t.match(asked.at(-1)!.body, { time_zone: 'Europe/Berlin', item: { objective: 'Tidy up', labels: ['gpu'] } })
  t.match(await add('Update'), { code: 2, err: /--cron/ })
  t.match(await add('--cron', '0 9 * * *'), { code: 2, err: /Say what to do/ })
  t.match(await add('Update', '--cron', '0 9 * * *', '--kind', 'release'), { code: 2, err: /release/ })
})

t.test('sentinel list and show tell when each falls due and what came of the last time', async (t) => {
  const lasts = [
    [undefined, 'has not fallen due yet'],
    [{ at: NIGHTLY.next_at, item_id: ITEM }, `submitted ${ITEM}`],
    [{ at: NIGHTLY.next_at, item_id: ITEM, skipped: 'duplicate' }, 'asks for the same and has not settled'],
    [{ at: NIGHTLY.next_at, skipped: 'missed' }, 'the service was not running then'],
    [{ at: NIGHTLY.next_at, skipped: 'project_archived' }, 'its project is archived'],
    [{ at: NIGHTLY.next_at, skipped: 'unknown_time_zone' }, 'the service did not know its time zone'],
  ] as const
  for (const [last, words] of lasts) {
    const one = { ...NIGHTLY, ...(last === undefined ? {} : { last }) }
    const { env, asked } = await service(t, ({ url }) => [200, url.includes('?') ? { items: [one] } : one])
    const listed = await cli(env, 'schedule')
    t.match(asked.at(-1)!.url, /state=active%2Cpaused/)
    t.match(listed.out, /nightly +active +shop +2030-01-31T02:30:00.000Z +30 2 \* \* \* UTC/)
    t.ok(listed.out.includes(words), words)
    const shown = await cli(env, 'sentinel', 'show', 'nightly')
    t.equal(shown.err, '')
    t.ok(shown.out.includes(words), words)
    t.match(shown.out, /labels +linux, gpu/)
  }
})

t.test('sentinel show tells which items failed and why, and why there is no next time', async (t) => {
  const items = ['failed', 'failed', 'preserved'].map((state) => ({ item_id: ITEM, state, reason: 'exit code 1' }))
  const { next_at: _, ...rest } = NIGHTLY
  const one = { ...rest, time_zone: 'Mars/Olympus', failing: { since: NIGHTLY.created_at, items } }
  const { env } = await service(t, () => [200, one])
  const { out } = await cli(env, 'sentinel', 'show', 'nightly')
  t.match(out, /^next +none: the Node.js of the service does not know the time zone Mars\/Olympus$/m)
  t.match(
    out,
    new RegExp(`^failing +its last 3 items: failed, failed, preserved; the newest, ${ITEM}: exit code 1$`, 'm'),
  )
})

t.test('sentinel edit replaces what is submitted as a whole, or leaves it as it is', async (t) => {
  const { env, asked } = await service(t, () => [200, NIGHTLY])
  const edit = (...more: string[]) => cli(env, 'sentinel', 'edit', 'nightly', ...more)
  await edit('--cron', '0 4 * * *')
  const { origin: _, ...patch } = asked.at(-1)!.body
  t.same(patch, { cron: '0 4 * * *' })
  await edit('Tidy up', '--lane', 'maintenance')
  t.match(asked.at(-1), {
    method: 'PATCH',
    url: '/api/sentinels/nightly',
    body: { item: { objective: 'Tidy up', lane: 'maintenance' } },
  })
  t.match(await edit('--lane', 'maintenance'), { code: 2, err: /Give TEXT or --file, too/ })
  t.match(await edit(), { code: 2, err: /Nothing to change/ })
})

t.test('sentinel pause, resume, fire and remove are sent as such', async (t) => {
  const last = { at: NIGHTLY.next_at, item_id: ITEM }
  const { env, asked } = await service(t, () => [200, { ...NIGHTLY, last }])
  for (const move of ['pause', 'resume', 'remove']) {
    t.match((await cli(env, 'sentinel', move, 'nightly')).out, /^nightly is active/)
    t.match(asked.at(-1), { method: 'POST', url: `/api/sentinels/nightly/${move}` })
  }
  t.equal((await cli(env, 'sentinel', 'fire', 'nightly')).out, `nightly: submitted ${ITEM}.\n`)
})
