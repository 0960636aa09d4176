/** What a run request tells the brief that it follows: the two charts together, through every message of the run. */
import t from 'tap'
import { formationBriefModule } from '../../../machines/formation-brief.ts'
import type { Message, SendParams, SnapshotOf } from '../../../machines/machine.ts'
import { runRequestModule as module } from '../../../machines/run-request.ts'
import { ARTIFACT, CREATE as BRIEF, COMPILED } from '../formation-brief-samples.ts'
import { CREATE, MESSAGES as M, states } from '../run-request-samples.ts'
import { after, at, snapshotFile, step, table } from '../step.ts'

t.snapshotFile = snapshotFile('run-request/brief')

const brief = { id: BRIEF.id, digest: ARTIFACT.digest }
const FOLLOWING = { brief }

/** What the brief is told in these steps, and what it does with it. */
function heard(snapshot: SnapshotOf<any>, sends: readonly SendParams[], atSeconds: number): SnapshotOf<any> {
  let now = snapshot
  for (const { to, message } of sends) {
    if (to.kind !== 'formation_brief') continue
    const stepped = step(formationBriefModule, now, at(atSeconds, message as { type: string }))
    if (stepped.refused !== undefined) throw new Error(`${message.type} in ${now.value}: ${stepped.refused}`)
    now = stepped.snapshot
  }
  return now
}

t.test('with a brief, every message in every state sends the brief what the table shows', (t) => {
  t.matchSnapshot(table(module, states(FOLLOWING), M), 'run request with a brief')
  t.end()
})

t.test('without a brief, nobody is told', (t) => {
  for (const [state, snapshot] of Object.entries(states())) {
    for (const message of Object.values(M)) {
      const { sends } = step(module, snapshot, message as Message<any>)
      t.notOk(
        sends.some(({ to }) => to.kind === 'formation_brief'),
        `${message.type} in ${state}`,
      )
    }
  }
  t.end()
})

const WHERE: Readonly<Record<string, string>> = {
  queued: 'queued',
  offered: 'queued',
  accepted: 'accepted',
  started: 'executing',
  cancelling: 'executing',
  completed: 'completed',
  failed: 'compiled',
  cancelled: 'compiled',
  lost: 'compiled',
}

t.test('in every state of the run, its brief is in the matching state', (t) => {
  const created = step(module, after(module, []), at(0, { ...CREATE, ...FOLLOWING }))
  /** Every pair of a run's state and its brief's that messages lead to. */
  const known = new Map<string, { run: SnapshotOf<any>; brief: SnapshotOf<any> }>()
  const open = [{ run: created.snapshot, brief: heard(COMPILED, created.sends, 0), depth: 0 }]
  for (let at = open.pop(); at !== undefined; at = open.pop()) {
    const key = `${at.run.value} attempt ${at.run.context.attempt} ${at.brief.value}`
    if (known.has(key) || at.depth > 6) continue
    known.set(key, at)
    const isStopping = at.run.value === 'cancelling' && at.brief.value === 'accepted'
    t.ok(isStopping || at.brief.value === WHERE[at.run.value], key)
    for (const message of Object.values(M)) {
      const stepped = step(module, at.run, message as Message<any>)
      const brief = heard(at.brief, stepped.sends, 99)
      open.push({ run: stepped.snapshot, brief, depth: at.depth + 1 })
    }
  }
  const reached = new Set([...known.values()].map(({ run }) => run.value))
  t.same([...reached].sort(), Object.keys(WHERE).sort(), 'the walk visits every state')
  t.end()
})
