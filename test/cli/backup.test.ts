/** `intendant backup` follows a backup that takes longer than the service lets a request wait. */
import t from 'tap'
import { cli, service } from './in-process.ts'

const running = { name: 'today', state: 'running', path: '/h/backups/today', begun_at: '2030-01-01T00:00:00.000Z' }
const completed = { ...running, state: 'completed', ended_at: '2030-01-01T01:00:00.000Z', bytes: 7, sequence: 9 }

t.test('backup waits for the end of a backup that takes long', async (t) => {
  let looks = 0
  const { env, asked } = await service(t, ({ method }) => {
    if (method === 'POST') return [202, running]
    looks += 1
    return looks === 1 ? [504, '<html>'] : [200, completed]
  })
  const { code, out, err } = await cli(env, 'backup', '--name', 'today')
  t.equal(code, 0, err)
  t.equal(out, 'The backup is in /h/backups/today on the machine of the service.\n')
  t.match(err, /Backup today is still running; waiting for it to end\.\n.*trying again/)
  t.same(
    asked.map(({ method, url }) => `${method} ${url}`),
    ['POST /api/backups', 'GET /api/backups/today', 'GET /api/backups/today'],
  )
})

t.test('backup fails if the backup that it follows fails', async (t) => {
  const failure = { code: 'backup_failed', message: 'the log grew' }
  const { env } = await service(t, ({ method }) =>
    method === 'POST' ? [202, running] : [200, { ...running, state: 'failed', failure }],
  )
  const { code, err } = await cli(env, 'backup')
  t.not(code, 0)
  t.match(err, /the log grew\n {2}\(500 backup_failed, POST \/api\/backups\)/)
})

t.test('a repeated backup command follows the backup of that name, and one without the name is refused', async (t) => {
  const detail = 'The backup today has been under way.'
  const problem = { code: 'backup_running', detail, backup: 'today', retryable: true }
  const { env } = await service(t, ({ method }) => (method === 'POST' ? [409, problem] : [200, completed]))
  t.match(await cli(env, 'backup', '--name', 'today', '--json'), { code: 0, out: /"sequence": 9/ })
  const other = await cli(env, 'backup')
  t.equal(other.code, 4, 'it may be asked for later')
  t.match(other.err, /The backup today has been under way\./)
})

t.test(
  'a repeated backup command reports the completed backup of that name, or the refusal if there is none',
  async (t) => {
    const problem = { code: 'already_exists', detail: 'A backup of that name already exists.' }
    const { env } = await service(t, ({ method }) => (method === 'POST' ? [409, problem] : [200, completed]))
    t.match(await cli(env, 'backup', '--name', 'today'), { code: 0, out: /is in \/h\/backups\/today/ })
    for (const answer of [
      [404, { code: 'not_found', detail: 'no' }],
      [200, { ...running, state: 'failed', failure: { code: 'already_exists', message: 'there' } }],
    ] as const) {
      const unknown = await service(t, ({ method }) => (method === 'POST' ? [409, problem] : [...answer]))
      const told = await cli(unknown.env, 'backup', '--name', 'today')
      t.not(told.code, 0)
      t.match(told.err, /A backup of that name already exists\./)
    }
  },
)

t.test('a repeated backup command does not pass off a backup older than an hour as a new one', async (t) => {
  const problem = { code: 'already_exists', detail: 'A backup of that name already exists.' }
  const ended = (minutesAgo: number) => new Date(Date.now() - minutesAgo * 60_000).toISOString()
  const told = async (ended_at: string) => {
    const { env } = await service(t, ({ method }) =>
      method === 'POST' ? [409, problem] : [200, { ...completed, ended_at }],
    )
    return cli(env, 'backup', '--name', 'today')
  }
  const late = ended(59)
  t.match(await told(late), {
    code: 0,
    out: /is in \/h\/backups\/today/,
    err: `This backup was made at ${late}; no new one was made. For a new one, give another --name or none.\n`,
  })
  const yesterday = ended(24 * 60)
  const { code, out, err } = await told(yesterday)
  t.same({ code, out }, { code: 3, out: '' })
  t.match(err, `A backup of that name was made at ${yesterday}; no new one was made. Give another --name or none.`)
})

t.test(
  'a backup of a damaged log is reported with its path and exit code 1, whichever answer reveals it',
  async (t) => {
    const failure = { code: 'backup_damaged', message: 'The backup is in /h, and is of a log that is damaged.' }
    const damaged = { ...completed, state: 'damaged', failure }
    const problem = { code: 'backup_damaged', detail: failure.message, backup: 'today' }
    const there = { code: 'already_exists', detail: 'A backup of that name already exists.' }
    for (const answer of [
      [500, problem],
      [202, running],
      [409, there],
    ] as const) {
      const { env } = await service(t, ({ method }) =>
        method === 'POST' ? [...answer] : [200, { ...damaged, ended_at: new Date().toISOString() }],
      )
      const { code, out, err } = await cli(env, 'backup', '--name', 'today')
      t.equal(code, 1)
      t.equal(out, 'The backup is in /h/backups/today on the machine of the service.\n')
      t.match(err, failure.message)
      const asJson = await cli(env, 'backup', '--name', 'today', '--json')
      t.match([asJson.code, JSON.parse(asJson.out)], [1, { state: 'damaged', bytes: 7, failure }])
    }
  },
)
