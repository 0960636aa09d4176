/** The intent commands against a real service: what a person types, and what is printed. */
import { spawnSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import t from 'tap'
import { BINARY } from '../binary.ts'
import { until } from '../until.ts'
import { shop } from './shop.ts'

const INSPECTION = {
  source: { tool: 'archaeologist' },
  repository: { revision: '8f2c1d0' },
  observations: [{ ref: 'o1', summary: 'Orders are written first.', files: ['src/orders.ts'] }],
  hypotheses: [
    {
      key: 'orders-first',
      title: 'An order survives \u001b[31m a failed payment',
      confidence: 0.7,
      based_on: ['o1'],
      possible_intent: { capability: 'A customer can pay later.' },
      questions: ['On purpose?'],
    },
  ],
}

t.test(
  'an intent record is added, accepted, edited, related, activated and superseded on the command line',
  async (t) => {
    const { run, say } = await shop(t)
    t.match(await say('project', 'charter', 'shop'), /No charter yet/)
    await say('project', 'charter', 'shop', '--mission', 'Sell things.', '--out-of-scope', 'Payments')
    t.match(await say('project', 'charter', 'shop', '--out-of-scope', ''), /^mission +Sell things\.\n$/)
    t.match(await say('intent', 'list', '--project', 'shop'), /No records/)
    const added = await say(
      ...['intent', 'add', '--project', 'shop', '--title', 'Sessions survive', '--capability', 'Signed in, always.'],
      ...['--path', 'src/auth', '--evidence', 'the restart test, twice', '--optional-evidence', 'no map in memory'],
    )
    const key = 'shop.intent.sessions-survive'
    t.match(added, `${key} is proposed.`)
    t.match(added, `intendant intent accept ${key}`)
    t.match(await say('intent', 'accept', key, '--reason', 'agreed'), `${key} is accepted.`)
    t.match(
      await say('intent', 'edit', key, '--threat', 'Maps in memory.', '--clear', 'capability'),
      'is now version 2.',
    )
    t.match(await say('intent', 'edit', key, '--threat', 'Maps in memory.'), 'is unchanged.')
    const edited = JSON.parse(
      await say('intent', 'edit', key, '--evidence', 'the restart test, twice', '--evidence', 'a third', '--json'),
    )
    t.same(
      edited.evidence.map(({ id, required }: any) => [id.split('.')[1], required]),
      [
        ['e1', true],
        ['e3', true],
        ['e2', false],
      ],
      'an entry with the same text keeps its id',
    )
    const body = '{"evidence": [{"description": "the gate", "gate_name": "restart"}]}'
    await say('intent', 'edit', key, '--body', body)
    const both = JSON.parse(await say('intent', 'edit', key, '--optional-evidence', 'a look', '--json'))
    t.match(
      both.evidence,
      [
        { description: 'the gate', gate_name: 'restart', required: true },
        { description: 'a look', required: false },
      ],
      'entries of the other kind stay',
    )
    const turned = JSON.parse(await say('intent', 'edit', key, '--evidence', 'a look', '--json'))
    t.match(turned.evidence, [{ id: both.evidence[1].id, description: 'a look', required: true }])
    const stale = await run('intent', 'edit', key, '--title', 'Other', '--if-version', '1')
    t.equal(stale.code, 3)
    t.match(stale.err, 'precondition_failed')
    t.match(await say('intent', 'list', '--project', 'shop', '--path', 'src/auth/login.ts'), key)
    t.match(await say('intent', 'list', '--project', 'shop', '--path', 'docs'), /No matching records/)
    t.match(await say('intent', 'list', '--project', 'shop', '--title', 'survive'), key)
    t.match(await say('intent', 'list', '--project', 'shop', '--title', 'die'), /No matching records/)
    await say('intent', 'add', '--project', 'shop', '--title', 'Heir', '--hypothesized')
    t.match(await say('intent', 'relate', key, '--type', 'refines', '--to', 'heir'), `${key} refines shop.intent.heir.`)
    t.match(await say('intent', 'show', key), /r1 {2}refines shop\.intent\.heir/)
    await say('intent', 'add', '--project', 'shop', '--title', 'Other')
    t.match(
      await say('intent', 'relate', key, '--type', 'refines', '--to', 'other'),
      `${key} refines shop.intent.other.`,
    )
    const { id: heir } = JSON.parse(await say('intent', 'show', 'shop.intent.heir', '--json'))
    for (const to of ['heir', 'shop.intent.heir', heir])
      t.match(await say('intent', 'relate', key, '--type', 'refines', '--to', to), `${key} refines shop.intent.heir.`)
    await say('intent', 'unrelate', key, 'r2')
    await say('intent', 'unrelate', key, 'r1')
    t.match(await say('intent', 'check', '--project', 'shop'), /left_hypothesized.*shop\.intent\.heir/)
    for (const move of ['accept', 'activate', 'supersede', 'deprecate', 'contradict'])
      t.match((await run('intent', move, key, '--if-version', '1')).err, 'precondition_failed', move)
    const { version } = JSON.parse(await say('intent', 'show', key, '--json'))
    t.match(await say('intent', 'activate', key, '--if-version', String(version)), `${key} is active.`)
    const superseded = await say('intent', 'supersede', key, '--by', 'heir', '--if-version', String(version))
    t.match(superseded, /heir is hypothesized and guides no runs yet.*intendant intent accept shop\.intent\.heir/)
    t.match(await say('intent', 'show', 'shop.intent.heir'), /supersedes +shop\.intent\.sessions-survive/)
    const nothing = await run('intent', 'edit', key)
    t.equal(nothing.code, 2)
    t.match(nothing.err, 'Nothing to change was named')
  },
)

t.test('intent edit keeps repeated evidence entries apart, and refuses to set and clear the same member', async (t) => {
  const { run, say } = await shop(t)
  await say('intent', 'add', '--project', 'shop', '--title', 'One', '--threat', 'old words')
  const edit = ['intent', 'edit', 'shop.intent.one']
  const ids = async (...options: string[]) =>
    JSON.parse(await say(...edit, ...options, '--json')).evidence.map(({ id }: any) => id.split('.')[1])
  const twice = ['--evidence', 'dup', '--evidence', 'dup']
  t.same(await ids(...twice), ['e1', 'e2'])
  t.match(await say(...edit, ...twice), 'is unchanged.')
  t.same(await ids(...twice, '--evidence', 'dup'), ['e1', 'e2', 'e3'])
  t.same(await ids('--evidence', 'dup', '--optional-evidence', 'dup'), ['e1', 'e2'])
  t.same(await ids('--optional-evidence', 'dup', '--evidence', 'dup'), ['e1', 'e2'], 'each keeps its id')
  const body = [{ description: 'dup' }, { description: 'dup', required: false }, { description: 'dup' }]
  t.same(await ids('--body', JSON.stringify({ evidence: body })), ['e1', 'e2', 'e4'])
  for (const [said, member] of [
    [['--threat', 'new words'], 'threat'],
    [['--evidence-summary', 'x'], 'evidence-summary'],
    [['--path', 'src'], 'scope'],
    [['--optional-evidence', 'x'], 'evidence'],
    [['--body', '{"strategy": "x"}'], 'strategy'],
  ] as const) {
    const { code, err } = await run(...edit, ...said, '--clear', member)
    t.equal(code, 2, member)
    t.match(err, `${said[0]} sets what --clear ${member} removes`)
  }
  t.equal(JSON.parse(await say('intent', 'show', 'shop.intent.one', '--json')).threat, 'old words')
})

t.test('an inspection is posted from a file or standard input, and its hypotheses are reviewed', async (t) => {
  const { service, run, say } = await shop(t)
  const file = `${service.home}/inspection.json`
  writeFileSync(file, JSON.stringify(INSPECTION))
  const posted = await say('discover', '--project', 'shop', file)
  t.match(posted, /Discovery disc_[0-9a-f]{24}: 1 observation, 1 hypothesis\./)
  t.notOk(posted.includes('\u001b'), 'control characters are removed')
  const piped = spawnSync(process.execPath, [BINARY, 'discover', '--project', 'shop', '--json'], {
    input: JSON.stringify(INSPECTION),
    env: { ...process.env, ENGINE_HOME: service.home, ENGINE_URL: service.url },
    encoding: 'utf8',
  })
  t.equal(piped.status, 0, piped.stderr)
  const [{ hypothesis_id: id }] = JSON.parse(piped.stdout).hypotheses
  t.match(posted, id, 'the same inspection is the same discovery')
  t.match(posted, 'Review them with')
  const [, discovery] = /(disc_[0-9a-f]{24})/.exec(posted)!
  t.match(
    await say('discovery', 'list', '--project', 'shop'),
    new RegExp(`${discovery} +\\d+s +1 +1 +8f2c1d0 +archaeologist`),
  )
  const saw = await say('discovery', 'show', discovery!.slice(0, 13))
  t.match(saw, /- Orders are written first\. \(src\/orders\.ts\)\n {2}hyp_[0-9a-f]{24} {2}An order survives/)
  t.notOk(saw.includes('\u001b'))
  t.match(await say('attention'), new RegExp(`${id} .*An order survives.* intendant hypothesis accept ${id}`))
  t.match(await say('hypothesis', 'list', '--project', 'shop', '--state', 'open'), id)
  const shown = await say('hypothesis', 'show', id)
  t.match(shown, 'may come from a repository')
  t.match(shown, /- .*\(src\/orders\.ts\)/, 'its observations')
  t.notOk(shown.includes('\u001b'))
  const accepted = await say('hypothesis', 'accept', id, '--title', 'Orders survive', '--evidence', 'the payment test')
  t.match(accepted, `${id} is accepted: shop.intent.orders-survive is accepted.`)
  t.match(await say('intent', 'show', 'shop.intent.orders-survive'), /\(untrusted text\): src\/orders\.ts/)
  t.match(await say('hypothesis', 'show', id), /record +shop\.intent\.orders-survive\n/)
  t.notMatch(await say('discover', '--project', 'shop', file), 'Review them', 'all are decided')
  const late = await run('hypothesis', 'reject', id, '--reason', 'late')
  t.equal(late.code, 3)
  t.match(late.err, 'It is accepted')
  const missing = await run('discover', '--project', 'shop', `${service.home}/nothing.json`)
  t.equal(missing.code, 2)
  t.match(missing.err, `${service.home}/nothing.json cannot be read: ENOENT`)
  writeFileSync(file, '[]')
  const wrong = await run('discover', '--project', 'shop', file)
  t.equal(wrong.code, 2)
  t.match(wrong.err, 'does not hold a JSON object')
})

t.test('the drift of a project is listed, classified and repaired on the command line', async (t) => {
  const { run, say } = await shop(t)
  t.match(await say('drift', '--project', 'shop'), /nothing can drift/)
  for (const slug of ['a', 'b']) {
    await say('intent', 'add', '--project', 'shop', '--title', `Record ${slug}`, '--slug', slug)
    await say('intent', 'accept', `shop.intent.${slug}`)
  }
  t.match(await say('drift', '--project', 'shop'), /unobserved +low +shop\.intent\.b .*it has never been/)
  t.match(await say('drift', '--project', 'shop', '--status', 'drifted'), /No matching drift/)
  t.match(
    await say('drift', 'show', 'shop.intent.b'),
    /Have a run check it and report its observation of ir_[0-9a-f]{24}/,
  )
  await say('intent', 'relate', 'shop.intent.a', '--type', 'conflicts_with', '--to', 'b')
  // The other record learns of the conflict by message.
  const seen = await until(
    () => say('drift', '--project', 'shop'),
    (text) => text.includes('2 contradicted'),
  )
  t.match(seen, /contradicted +medium +shop\.intent\.a +\d+s +ask +it conflicts with shop\.intent\.b/)
  t.match(await say('attention'), 'intendant drift show shop.intent.a')
  t.match(await say('drift', 'show', 'shop.intent.a'), 'intendant drift classify shop.intent.a --as real')
  const excused = await say(
    'drift',
    'classify',
    'shop.intent.a',
    '--as',
    'allowed_exception',
    '--reason',
    'for now',
    '--review',
    '30d',
  )
  t.match(excused, 'shop.intent.a is contradicted: allowed exception. To do: none.')
  t.notMatch(await say('attention'), 'drift show shop.intent.a')
  t.match(await say('drift', 'classify', 'shop.intent.a', '--as', 'real'), 'intendant drift repair shop.intent.a')
  const drafted = await say('drift', 'repair', 'shop.intent.a')
  const next = /Formation brief brief_[0-9a-f]{24} is draft.*\nRead it with: intendant brief show (brief_\w+)/.exec(
    drafted,
  )
  t.match(await say('brief', 'show', next![1]!), /engineering: shop\.intent\.a\n/)
  const history = await say('drift', 'history', 'shop.intent.a')
  for (const text of [
    'repair drafted: brief_',
    'classified real',
    'allowed_exception: for now',
    'was unobserved (conflict)',
  ])
    t.match(history, text)
  t.equal(JSON.parse(await say('drift', '--project', 'shop', '--status', 'contradicted', '--json')).length, 2)
  t.equal((await run('drift')).code, 2)
  t.equal((await run('drift', 'classify', 'shop.intent.a', '--as', 'fine')).code, 2)
})
