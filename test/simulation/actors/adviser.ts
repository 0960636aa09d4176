/** What agents of read-only runs answer: the next step of a campaign or of an initiative, and much that is neither. */
import type { Member } from '../../../machines/documents/member.ts'
import type { Random } from '../random.ts'
import type { World } from '../world.ts'

/** How the summary of a task ends that found no provider to work for it. */
export const OUT_OF_REACH = 'nobody was there'
export const OUTAGE = {
  success: false,
  landed: false,
  verdict: 'runner_error',
  detail: OUT_OF_REACH,
  failure_code: 'provider_unavailable',
  retry_after: 4,
} as const

interface Asked {
  readonly entry_event: string
  readonly payload: object
}

interface Gate {
  readonly name: string
  readonly command: string
  readonly required: boolean
}

/** The Run Result; undefined: the run is not read-only. */
export function adviceOf(world: World, random: Random, { entry_event, payload }: Asked): object | undefined {
  if (entry_event === 'campaign_advance_requested')
    return { agent_provider: 'acme', ...formed(world, random, payload as { readonly gates: readonly Gate[] }) }
  if (entry_event !== 'initiative_advance_requested') return undefined
  const { initiative, member } = payload as { readonly initiative: string; readonly member?: Member }
  return { agent_provider: 'acme', ...steered(random, member, world.gossip.steering.get(initiative)!.members) }
}

const WILD = {
  advance: 6,
  done: 2,
  red: 1,
  unproven: 1,
  again: 1,
  escalate: 1,
  wordless: 0.5,
  strange: 0.5,
  nothing: 0.5,
}
const CALM = { advance: 3, done: 3, escalate: 0.5 }

function formed(world: World, random: Random, { gates }: { readonly gates: readonly Gate[] }): object {
  const is = world.isStormy ? random.weighted(WILD) : random.weighted(CALM)
  const reason = `so it is ${random.hex(2)}`
  const results = gates.map((gate, n) => {
    const passed = is !== 'red' || n > 0
    return { ...gate, passed, output: '', exit_code: passed ? 0 : 1 }
  })
  const gate_results = is === 'unproven' ? [] : results
  switch (is) {
    case 'nothing':
      return { gate_results }
    case 'wordless':
      return { decision: { decision: 'advance', reason }, gate_results }
    case 'strange':
      return { decision: { decision: 'wait', reason }, gate_results }
    case 'advance':
    case 'again': {
      const objective = is === 'again' ? 'the same as ever' : `step ${random.hex(6)}`
      return { ...told(random, { decision: 'advance', reason, objective }), gate_results }
    }
    default:
      return { ...told(random, { decision: is === 'escalate' ? is : 'done', reason }), gate_results }
  }
}

const STEPS = {
  advance: 4,
  dispatch: 2,
  stage: 1,
  hold: 1.5,
  relay: 3,
  ask: 1,
  escalate: 0.7,
  done: 0.5,
  wait: 2,
  muddle: 1,
}

function steered(random: Random, pinned: Member | undefined, members: readonly Member[]): object {
  const is = random.weighted(STEPS)
  const reason = `so it is ${random.hex(2)}`
  if (is === 'muddle') return random.chance(0.5) ? {} : { decision: { decision: 'muddle', reason } }
  const isStrange = random.chance(0.08)
  const kinds: Partial<Record<typeof is, string>> = { dispatch: 'project', stage: 'project', advance: 'campaign' }
  const fit = members.filter(({ kind }) => kind === (kinds[is] ?? kind))
  const member = isStrange ? { kind: 'campaign', ref: 'a-stranger' } : (pinned ?? random.pick(fit))
  const more = {
    dispatch: { member, objective: `task ${random.hex(4)}` },
    stage: { member, objective: `task ${random.hex(4)}` },
    relay: { text: `it is known ${random.hex(2)}` },
    ask: { member, question: `which one ${random.hex(1)}?` },
    advance: { member },
    hold: { member },
    escalate: { member },
    done: {},
    wait: {},
  }
  return told(random, { ...more[is], decision: is, reason })
}

interface Decided {
  readonly decision: string
  readonly reason: string
  readonly objective?: string
}

/** As an object, or as a bare decision with its members beside it. */
function told(random: Random, decision: Decided): object {
  return random.chance(0.7) ? { decision } : decision
}
