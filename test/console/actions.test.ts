/** Every action of the console is one that the API documents: its path, its method, its right, what it sends. */
import t from 'tap'
import { type Action, lackedFor, refusedIn } from '../../console/actions/action.ts'
import { CAMPAIGN_ACTIONS, INITIATIVE_ACTIONS } from '../../console/actions/campaigns.ts'
import {
  ITEM_ACTIONS,
  LIMIT_LABEL,
  limitActions,
  NEW_TASK,
  pauseLane,
  WEIGH_PROJECT,
  weightActions,
} from '../../console/actions/items.ts'
import { BRIEF_ACTIONS, DRIFT_ACTIONS, HYPOTHESIS_ACTIONS, RECORD_ACTIONS } from '../../console/actions/meaning.ts'
import { RUN_ACTIONS, RUNNER_ACTIONS } from '../../console/actions/runs.ts'
import { NEW_SENTINEL, SENTINEL_ACTIONS } from '../../console/actions/sentinels.ts'
import { LANES } from '../../machines/run-request/lanes.ts'
import { startTestService } from '../http/service-harness.ts'

const of = { id: 'x', name: 'x', project: 'p', intent_record: { id: 'x' } }
const EVERY: readonly Action[] = [
  ...ITEM_ACTIONS,
  ...RUN_ACTIONS,
  ...RUNNER_ACTIONS,
  ...CAMPAIGN_ACTIONS,
  ...INITIATIVE_ACTIONS,
  ...BRIEF_ACTIONS,
  ...HYPOTHESIS_ACTIONS,
  ...RECORD_ACTIONS,
  ...DRIFT_ACTIONS,
  ...SENTINEL_ACTIONS,
  NEW_SENTINEL,
  NEW_TASK,
  ...LANES.flatMap((lane) => [pauseLane(lane, true), pauseLane(lane, false)]),
  LIMIT_LABEL,
  ...limitActions('gpu'),
  WEIGH_PROJECT,
  ...weightActions('shop'),
]

t.test('every action is an operation of the API, and sends what that takes', async (t) => {
  const { openApi } = await startTestService(t)
  const resolved = (schema: any): any =>
    schema?.$ref === undefined ? schema : openApi.components.schemas[schema.$ref.split('/').pop()]
  for (const action of EVERY) {
    const { label, method = 'POST', fields = [], body, send, isOfVersion = false } = action
    const path = `/${action.path(of)}`
    const name = Object.keys(openApi.paths).find((known) =>
      new RegExp(`^${known.replaceAll(/\{\w+\}/g, '[^/]+')}$`).test(path),
    )
    const operation = openApi.paths[name ?? '']?.[method.toLowerCase()]
    t.ok(operation, `${label}: ${method} ${path}`)
    const { needs, isOneEnough = false } = action
    if (isOneEnough) t.ok(needs.includes(operation['x-right']), `${label} ${path}: the right`)
    else if (send === undefined) t.strictSame(needs, [operation['x-right']], `${label} ${path}: the right`)
    const takesVersion = (operation.parameters ?? []).some((one: any) => one.name.toLowerCase() === 'if-match')
    t.equal(isOfVersion, takesVersion, `${label} ${path}: If-Match`)
    // It composes its own requests, which test/console/console.test.ts sends.
    if (send !== undefined) continue
    const schema = resolved(operation.requestBody?.content['application/json'].schema)
    // What a form of a sentinel asks about its items is sent in `item`.
    const members = { ...schema?.properties, ...resolved(schema?.properties?.item)?.properties }
    const sent = Object.keys(body?.({}, of) ?? Object.fromEntries(fields.map((field) => [field.name, ''])))
    for (const member of sent) t.ok(schema.properties[member], `${label} ${path}: ${member}`)
    const needed = body === undefined ? fields.filter(({ isRequired }) => isRequired).map((field) => field.name) : sent
    t.same(needed.sort(), body === undefined ? (schema?.required ?? []).toSorted() : sent, `${label} ${path}: required`)
    for (const { name: member, choices } of fields) {
      const values = members[member].enum
      if (choices !== undefined && values !== undefined) t.strictSame([...choices].sort(), [...values].sort(), member)
    }
  }
})

t.test('a question is chosen among those that are open, by what it asks', (t) => {
  const [, question] = INITIATIVE_ACTIONS.find(({ label }) => label === 'Decide')!.fields!
  const asked = [
    { id: 'act_1', text: 'Which bank?', options: ['Spar', 'Post'], member: { kind: 'campaign', ref: 'spring' } },
    { id: 'act_2', text: `Which \u202e day? ${'x'.repeat(200)}` },
  ]
  const [bank, day] = question!.choicesOf!({ questions: asked })
  t.strictSame(bank, { value: 'act_1', label: 'spring: Which bank? (Spar / Post)' })
  t.match(day, { value: 'act_2', label: /^Which \\u\{202e\} day\? x+ …$/ })
  t.equal(question!.initial!({ questions: asked }), '')
  t.equal(question!.initial!({ questions: [asked[1]] }), 'act_2')
  t.same(question!.choicesOf!({}), [])
  t.end()
})

t.test('a token may do what it has all rights for, and the rights that it lacks are named', async (t) => {
  const byLabel = (label: string) => EVERY.find((action) => action.label === label)!
  const [hold, cancel, answer, approve] = ['Hold', 'Cancel', 'Answer', 'Approve'].map(byLabel) as [
    Action,
    Action,
    Action,
    Action,
  ]
  const either = BRIEF_ACTIONS.find(({ label }) => label === 'Approve')!
  t.strictSame(lackedFor(hold, new Set(['work.operate'])), [])
  t.strictSame(lackedFor(answer, new Set(['work.operate'])), ['work.submit'])
  t.strictSame(lackedFor(approve, new Set(['approve.dry_run'])), ['approve.full'])
  t.strictSame(lackedFor(either, new Set(['approve.dry_run'])), [])
  t.equal(
    refusedIn([hold, answer, cancel, either], new Set(['view'])),
    'Hold, Cancel: needs work.operate; Answer: needs work.submit and work.operate; Approve: needs approve.dry_run or approve.full',
  )
  t.equal(refusedIn([hold], new Set(['work.operate'])), '')
})
