import { hostname } from 'node:os'
import t from 'tap'
import { steer } from '../http/initiative-harness.ts'
import { fleet } from '../http/ledger-harness.ts'
import { startTestService } from '../http/service-harness.ts'
import { cli, cliOn, service } from './in-process.ts'

const SHOP = { kind: 'project', ref: 'shop' }
const BANK = { kind: 'project', ref: 'bank' }
const at = (minute: number) => `2030-01-01T00:${String(minute).padStart(2, '0')}:00Z`
const INITIATIVE = {
  name: 'invoices',
  outcome: 'People can pay by invoice, in every country in which there is a shop of ours',
  status: 'active',
  projects: ['shop', 'bank'],
  intent_refs: ['ir_1'],
  members: [SHOP, BANK],
  authorized_by: 'Ann',
  budget: { max_assessments: 10, max_actions: 4 },
  assessments_made: 9,
  actions_applied: 4,
  assessment: { trigger_id: 't2', item_id: `wi_${'b'.repeat(24)}`, phase: 'assessing', requested_at: at(5) },
  waiting: [{ trigger_id: 'nightly', member: SHOP, requested_at: at(6) }],
  questions: [
    { id: 'act_1', kind: 'ask', member: BANK, text: 'Which bank is it to be?', options: ['a', 'b'], at: at(3) },
  ],
  close_proposals: [{ id: 'act_2', reason: 'The first invoice is paid', at: at(4) }],
  owner_decisions: [{ decision: 'Invoices first', applicable_members: [SHOP], at: at(1) }],
  owner_actions: [{ action_id: 'act_3', action: 'hold', member: BANK, reason: 'audit week', at: at(2) }],
  assessments: [
    {
      steer_id: 'steer_1',
      item_id: `wi_${'a'.repeat(24)}`,
      trigger_id: 't1',
      outcome: 'applied',
      decision: 'dispatch',
      detail: 'Nothing prints invoices yet, and everything else needs that',
      provider: 'claude',
      at: at(2),
    },
  ],
  actions: [
    { decision: 'dispatch', member: SHOP, objective: 'Print invoices', item_id: `wi_${'c'.repeat(24)}`, at: at(2) },
  ],
  findings: [
    {
      finding_id: `find_${'d'.repeat(24)}`,
      kind: 'gap',
      text: 'VAT is left out\u001b[31m of every invoice that goes abroad',
      to: [SHOP, BANK],
      consumed_by: [],
      recorded_at: at(3),
    },
  ],
  created_by: { name: 'ann' },
  created_at: at(0),
}

t.test('initiative show lists outcome, budget, current work and history, what needs the owner first', async (t) => {
  const { env } = await service(t, () => [200, INITIATIVE])
  const { out, code } = await cli(env, 'initiative', 'show', 'invoices')
  t.equal(code, 0)
  for (const text of [
    'invoices active',
    'People can pay by invoice',
    '9 of 10',
    '4 of 4',
    'assessing t2 as wi_b',
    'nightly (project:shop)',
    'Which bank is it to be?',
    'a | b',
    'intendant initiative decide invoices --question act_1 --decision TEXT',
    'intendant initiative complete invoices --reason TEXT',
    'decided: Invoices first (project:shop)',
    'hold project:bank: audit week',
    'Nothing prints invoices yet',
    'VAT is left out',
  ])
    t.match(out, text)
  const order = ['Needs you', 'Members', 'Owner', 'Assessments', 'Findings'].map((heading) =>
    out.indexOf(`\n${heading}`),
  )
  t.same(
    order,
    [...order].sort((a, b) => a - b),
  )
  t.notMatch(out, '\u001b', 'control characters are removed')
  t.same(JSON.parse((await cli(env, 'initiative', 'show', 'invoices', '--json')).out), INITIATIVE)
})

t.test('on a narrow terminal initiative output fits its width and loses no text', async (t) => {
  const { env } = await service(t, ({ url }) => [200, url.includes('?') ? { items: [INITIATIVE] } : INITIATIVE])
  for (const columns of [40, 60, 99]) {
    for (const command of [['show', 'invoices'], ['findings', 'invoices'], ['list']]) {
      const { out } = await cliOn({ isTTY: true, columns }, { ...env, NO_COLOR: '1' }, 'initiative', ...command)
      const long = out.split('\n').filter((line) => line.length > columns && !/^ +intendant |^[a-z ]+ {2}/.test(line))
      t.same(long, [], `${command[0]} at ${columns}`)
    }
  }
  for (const columns of [40, 60, 99, 120]) {
    const { out } = await cliOn({ isTTY: true, columns }, { ...env, NO_COLOR: '1' }, 'initiative', 'show', 'invoices')
    const words = out.replace(/\s+/g, ' ')
    for (const text of [INITIATIVE.outcome, INITIATIVE.assessments[0]!.detail, 'of every invoice that goes abroad'])
      t.match(words, text, `in full at ${columns}`)
  }
  const { out } = await cliOn({ isTTY: true, columns: 60 }, { ...env, NO_COLOR: '1' }, 'initiative', 'show', 'invoices')
  t.match(out, /applied dispatch \d+s\n {2}Nothing prints/)
  t.match((await cliOn({ isTTY: true, columns: 140 }, env, 'initiative')).out, '\u001b[31masks you (1)')
})

t.test('each initiative command posts to its endpoint with its origin', async (t) => {
  const { env, asked } = await service(t, ({ url, body }) => {
    if (url.endsWith('owner-actions')) return [201, { action_id: 'act_1', ...body }]
    return [200, url.endsWith('findings') ? { finding_id: 'find_1', to: [SHOP] } : INITIATIVE]
  })
  const origin = `${hostname().slice(0, 64)} by hand`
  const run = async (...argv: string[]) => {
    const { code, err } = await cli(env, 'initiative', ...argv, '--origin', 'by hand')
    t.equal(code, 0, `${argv.join(' ')} ${err}`)
    const { method, url, body } = asked.at(-1)!
    t.equal(method, 'POST')
    t.equal(body.origin, origin)
    const { origin: _, ...rest } = body
    return [url.replace('/api/initiatives', ''), rest]
  }
  const added = await run(
    ...['add', 'invoices', '--outcome', 'Pay', '--member', 'project:shop', '--member', 'work_item:wi_1'],
    ...['--project', 'bank', '--intent', 'ir_1', '--authorized-by', 'Ann', '--max-actions', '3'],
  )
  t.same(added, [
    '',
    {
      name: 'invoices',
      outcome: 'Pay',
      members: [SHOP, { kind: 'work_item', ref: 'wi_1' }],
      projects: ['bank'],
      intent_refs: ['ir_1'],
      authorized_by: 'Ann',
      budget: { max_actions: 3 },
    },
  ])
  t.same(await run('advance', 'invoices', '--member', 'project:shop', '--trigger', 't1'), [
    '/invoices/advance',
    { member: SHOP, trigger_id: 't1' },
  ])
  t.same(await run('decide', 'invoices', '--decision', 'a', '--reason', 'b', '--member', 'project:bank'), [
    '/invoices/decide',
    { decision: 'a', reason: 'b', applicable_members: [BANK] },
  ])
  t.same(await run('decide', 'invoices', '--decision', 'a', '--question', 'act_1'), [
    '/invoices/decide',
    { decision: 'a', question_id: 'act_1' },
  ])
  t.same(await run('complete', 'invoices', '--reason', 'paid'), ['/invoices/complete', { reason: 'paid' }])
  t.same(await run('cancel', 'invoices', '--reason', 'no'), ['/invoices/cancel', { reason: 'no' }])
  t.same(await run('owner-action', 'invoices', 'hold', '--reason', 'x', '--member', 'project:shop', '--lift'), [
    '/invoices/owner-actions',
    { action: 'hold', reason: 'x', member: SHOP, lifted: true },
  ])
  for (const [options, said] of [
    [['hold', '--lift'], 'act_1 hold lifted project:shop\n'],
    [['member_override', '--override', 'exclude'], 'act_1 member_override exclude project:shop\n'],
  ] as const) {
    const about = ['--reason', 'x', '--member', 'project:shop']
    t.equal((await cli(env, 'initiative', 'owner-action', 'invoices', ...options, ...about)).out, said)
  }
  t.same(await run('finding', 'invoices', 'VAT', '--kind', 'gap', '--to', 'project:shop', '--ref', 'a.md'), [
    '/invoices/findings',
    { text: 'VAT', kind: 'gap', to: [SHOP], refs: ['a.md'] },
  ])
  const faulty = await cli(env, 'initiative', 'advance', 'invoices', '--member', 'shop')
  t.equal(faulty.code, 2)
  t.match(faulty.err, /project:KEY, work_item:ID or campaign:NAME/)
})

t.test(
  'a command repeated under one idempotency key takes effect once, and is refused with other options',
  async (t) => {
    const s = await startTestService(t)
    await fleet(s, 'shop', 'bank')
    const env = { ENGINE_URL: s.service.url, ENGINE_TOKEN: s.admin }
    const keyed = (...argv: string[]) => cli(env, 'initiative', ...argv, '--idempotency-key', 'k')
    for (const [said, otherwise] of [
      [
        ['add', 'checkout', '--outcome', 'Pay', '--member', 'project:shop'],
        ['--member', 'project:bank'],
      ],
      [
        ['decide', 'checkout', '--decision', 'Bank a'],
        ['--reason', 'x'],
      ],
      [
        ['owner-action', 'checkout', 'milestone', '--reason', 'paid'],
        ['--member', 'project:shop'],
      ],
      [
        ['finding', 'checkout', 'The limit is 10'],
        ['--kind', 'gap'],
      ],
    ] as const) {
      t.equal((await keyed(...said)).code, 0)
      t.equal((await keyed(...said)).code, 0, `${said[0]} again`)
      const refused = await keyed(...said, ...otherwise)
      t.equal(refused.code, 3)
      t.match(refused.err, 'idempotency_key_reused')
    }
    const { body } = await s.expect(200, 'GET', '/api/initiatives/checkout')
    t.same([body.owner_decisions.length, body.owner_actions.length, body.findings.length], [1, 1, 1])
  },
)

t.test('an initiative goes from add to complete on the command line against a real service', async (t) => {
  const s = await startTestService(t)
  const runner = await fleet(s, 'shop', 'bank')
  const env = { ENGINE_URL: s.service.url, ENGINE_TOKEN: s.admin }
  const run = async (...argv: string[]) => {
    const { code, out, err } = await cli(env, 'initiative', ...argv)
    t.equal(code, 0, `${argv.join(' ')}: ${err}`)
    return out
  }
  await run('add', 'checkout', '--outcome', 'Pay by invoice', '--member', 'project:shop', '--member', 'project:bank')
  t.match(await run(), /checkout +active +2 +0\/40 +0\/20/)
  await steer({ s, runner }, 't1', { decision: 'ask', question: 'Which bank?', member: BANK })
  t.match(await run('show', 'checkout'), /ask.* project:bank \d+s: Which bank\?/)
  const attention = (await cli(env, 'attention')).out
  t.match(attention, /asked +checkout +shop .*Which bank\? .*intendant initiative show checkout/)
  await run('decide', 'checkout', '--decision', 'Bank a', '--member', 'project:bank')
  t.notMatch((await cli(env, 'attention')).out, 'checkout')
  t.match(await run('show', 'checkout'), /\d+s {2}admin decided: Bank a \(project:bank\)/)
  t.match(await run('finding', 'checkout', 'The limit is 10'), /^find_\w+ for project:shop, project:bank/)
  t.match(await run('findings', 'checkout'), /note .*not used yet .*The limit is 10/)
  t.match(await run('complete', 'checkout', '--reason', 'paid'), 'checkout is completed: paid')
  t.match(await run('list', '--status', 'completed'), /checkout +completed/)
})
