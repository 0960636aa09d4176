/**
 * What comes of a formation's answer. The answer is an agent's advice: every guard between it and the next task is
 * here, and nowhere else.
 */
import { decisionIn, promptIn, providerIn } from '../agent-answer.ts'
import { clipped } from '../clipped.ts'
import { OBJECTIVE_LENGTH_MAX } from '../documents/campaign.ts'
import { LIST_MAX, TEXT_LENGTH_MAX } from '../documents/fields.ts'
import type { Failure } from '../documents/run-request.ts'
import type { RunResult } from '../documents/run-result.ts'
import { gateResult } from '../events/gates.ts'
import { PROVIDER_UNAVAILABLE, saysOutage } from '../run-request/failure.ts'
import { compile, openObject, requiredWith, stringEnum, Type } from '../schema.ts'
import type { CampaignContext, Of } from './context.ts'
import { type Gate, gatesOf } from './evidence.ts'

/** How much of a repeated objective is quoted: enough to recognize it. */
const CIRCLE_OBJECTIVE_CHARS_MAX = 300

/** What the run reported besides its decision; part of every event about it. */
interface Told {
  readonly prompt?: string
  readonly agent_provider?: string
  readonly gate_results: readonly GateResult[]
}

export type Verdict = Told & { readonly reason: string } & (
    | { readonly is: 'done' | 'escalate' | 'fault' }
    | { readonly is: 'advance'; readonly objective: string }
    | { readonly is: 'outage'; readonly retry_after?: unknown }
  )

interface GateResult {
  readonly name?: string
  readonly command?: string
  readonly passed?: boolean
  readonly output?: string
}

interface Answer {
  readonly decision: 'done' | 'advance' | 'escalate'
  readonly reason: string
  readonly objective?: string
}

const spoken = (maxLength: number) => Type.String({ minLength: 1, maxLength, pattern: '\\S' })

const checkAnswer = compile(
  openObject(
    {
      decision: stringEnum(['done', 'advance', 'escalate']),
      reason: spoken(TEXT_LENGTH_MAX),
      objective: Type.Optional(spoken(OBJECTIVE_LENGTH_MAX)),
    },
    { rules: [requiredWith('decision', ['advance'], 'objective')] },
  ),
)
const checkGates = compile(Type.Array(gateResult, { maxItems: LIST_MAX }))

/** How much of a failing gate's output goes into the objective that is to fix it. */
const RED_OUTPUT_CHARS_MAX = 512

/** Words saying that the provider is unavailable, from a failure or a formation's last agent; undefined if none do. */
export function outageOf(failure: Failure | undefined, outage?: string): string | undefined {
  if (failure !== undefined && saysOutage(failure.code)) return `${failure.code}: ${failure.message}`
  return outage === undefined ? undefined : `${PROVIDER_UNAVAILABLE}: ${outage}`
}

export function verdictOf(context: CampaignContext, message: Of<'item_reported'>): Verdict {
  const { outcome, result = {}, failure, outage } = message
  const told = toldBy(context, result)
  const unreachable = outcome === 'completed' && result.decision !== undefined ? undefined : outageOf(failure, outage)
  if (unreachable !== undefined) {
    return { ...told, is: 'outage', reason: unreachable, retry_after: result.retry_after }
  }
  if (outcome !== 'completed') return { ...told, is: 'fault', reason: failuresOf(message) }
  const [wrong] = checkGates(result.gate_results ?? [])
  if (wrong !== undefined) return malformed(told, `gate_results${wrong.pointer} ${wrong.detail}`)
  const given = decisionIn(result)
  if (given === undefined) return malformed(told, 'it has no decision')
  const [fault] = checkAnswer(given)
  if (fault !== undefined) return malformed(told, `${fault.pointer === '' ? 'it' : fault.pointer} ${fault.detail}`)
  return { ...told, ...guarded(context, given as Answer, told.gate_results) }
}

function toldBy({ work }: CampaignContext, result: RunResult): Told {
  const prompt = promptIn(result, work?.prompt)
  const agent_provider = providerIn(result)
  const gates = result.gate_results ?? []
  return {
    ...(prompt === undefined ? {} : { prompt }),
    ...(agent_provider === undefined ? {} : { agent_provider }),
    gate_results: checkGates(gates).length === 0 ? (gates as readonly GateResult[]) : [],
  }
}

function malformed(told: Told, why: string): Verdict {
  return { ...told, is: 'fault', reason: `the formation’s answer is malformed: ${why}` }
}

/** Names the failure of each attempt. */
function failuresOf({ outcome, failure, failures = [] }: Of<'item_reported'>): string {
  if (failure === undefined) return `the formation run was ${outcome}`
  const words = [...failures, failure].map(({ class: failureClass, code, message }) => {
    return `(${failureClass}${code === undefined ? '' : `, ${code}`}): ${message}`
  })
  if (words.length === 1) return `the formation failed ${words[0]}`
  return `the formation failed ${words.length} times: ${words.map((one, n) => `${n + 1} ${one}`).join('; ')}`
}

/** Turns a well-formed answer into a verdict. */
function guarded(context: CampaignContext, { decision, reason, objective }: Answer, gates: readonly GateResult[]) {
  if (decision === 'escalate') return { is: 'escalate', reason } as const
  if (decision === 'advance') return step(context, objective!, reason)
  const missing = gatesOf(context.asked.done_evidence).filter(({ required }) => required)
  const unproven = missing.filter((gate) => !gates.some((one) => isOf(one, gate) && one.passed !== undefined))
  if (unproven.length > 0) {
    // A gate that was not run is neither red nor green.
    const names = unproven.map(({ name }) => name).join(', ')
    return { is: 'fault', reason: `done was decided without results for ${names}` } as const
  }
  const red = missing.find((gate) => !gates.every((one) => !isOf(one, gate) || one.passed === true))
  if (red === undefined) return { is: 'done', reason } as const
  const { output = '' } = gates.findLast((one) => isOf(one, red) && one.passed !== true)!
  return step(context, restoring(context, red, output), `${red.name} is red, although done was decided: ${reason}`)
}

/** Whether it is a result of this gate: the command decides if there is one, not the name alone. */
function isOf(result: GateResult, { name, command }: Gate): boolean {
  return result.name === name && (result.command ?? command) === command
}

/** One next task, if the campaign may still have one. */
function step({ cycles_completed, max_cycles, history }: CampaignContext, objective: string, reason: string) {
  if (cycles_completed >= max_cycles) {
    return { is: 'escalate', reason: `the budget of ${max_cycles} cycles is used up: ${reason}` } as const
  }
  const before = history.find((entry) => sameText(entry.objective, objective))
  if (before !== undefined) {
    const words = clipped(objective.replace(/\s+/g, ' ').trim(), CIRCLE_OBJECTIVE_CHARS_MAX)
    const which = `cycle ${before.cycle} had the same objective, "${words}"`
    return { is: 'escalate', reason: `formation is going in circles: ${which}; now proposed again: ${reason}` } as const
  }
  return { is: 'advance', objective, reason } as const
}

function sameText(a: string, b: string): boolean {
  const words = (text: string) => text.replace(/\s+/g, ' ').trim().toLowerCase()
  return words(a) === words(b)
}

function restoring(
  { asked }: CampaignContext,
  { name, command }: { readonly name: string; readonly command: string },
  output: string,
): string {
  return [
    `Make \`${command}\` (${name}) succeed on trunk again.`,
    'It is required evidence for the mission below, and it fails. Do not revert work that has landed, and do not loosen or skip any check.',
    `The mission: ${asked.mission}`,
    `The end of its output: ${output.slice(-RED_OUTPUT_CHARS_MAX).toWellFormed()}`,
  ]
    .join('\n\n')
    .slice(0, OBJECTIVE_LENGTH_MAX)
    .toWellFormed()
}
