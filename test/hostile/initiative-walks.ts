/**
 * A story of steering: an initiative over a project, an assessment that a runner answers, actions of the owner, its
 * end.
 */
import { polledFor, post, type Stage, type Step, type Walk } from './story.ts'
import type { Caller } from './world.ts'

export function* anInitiative(stage: Stage): Walk {
  const { random, project } = stage
  const owner = stage.person('work.operate')
  const name = `i-${random.hex(12)}`
  const member = { kind: 'project', ref: project }
  const added = yield {
    operation: 'POST /api/initiatives',
    caller: stage.person('work.submit'),
    body: { name, outcome: stage.text(), members: [member] },
    exact: true,
  }
  if (added.status !== 201) return
  yield move(owner, name, 'findings', { text: stage.text(), to: [member] })
  yield move(owner, name, 'advance', { trigger_id: random.hex(8) })
  yield* anAnswer(stage, member)
  yield move(owner, name, 'owner-actions', { action: 'hold', member, reason: stage.text() })
  yield move(owner, name, 'advance', { member })
  yield move(owner, name, 'decide', { decision: stage.text(), applicable_members: [member] })
  yield { operation: 'GET /api/initiatives/{name}', caller: stage.person('view'), params: [name] }
  yield move(owner, name, random.pick(['complete', 'cancel']), { reason: stage.text() })
  yield move(owner, name, 'advance', {})
}

function move(caller: Caller, name: string, verb: string, body: Record<string, unknown>): Step {
  return { operation: `POST /api/initiatives/{name}/${verb}`, caller, params: [name], body, exact: true }
}

/** Whatever the runner is offered, it completes with a decision. */
function* anAnswer(stage: Stage, member: object): Walk {
  const runner = stage.runner()
  const given = yield* polledFor(runner) as any
  if (given === undefined) return
  const { request_id: id, attempt } = given
  yield post(runner, id, 'started', { attempt })
  const decision = stage.random.pick(['dispatch', 'stage', 'hold', 'relay', 'ask', 'escalate', 'done', 'wait', 'jump'])
  const said = { decision, reason: stage.text(), member, objective: stage.text(), text: stage.text() }
  yield post(runner, id, 'completed', { attempt, result: { decision: said, agent_provider: 'acme-ai' } })
}
