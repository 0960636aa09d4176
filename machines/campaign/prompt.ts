/**
 * The prompt of a formation: what a read-only agent is told when it is asked for the next step. Pure, and bounded: what
 * is left out when it grows too long is said. Words of runs and repositories are fenced: they are data.
 */
import { clipped } from '../clipped.ts'
import { fenced } from '../untrusted-text.ts'
import { nextBaseRef } from './chain.ts'
import type { CampaignContext, ObjectiveEntry, SharedFinding, TaskResult } from './context.ts'
import { evidenceName } from './evidence.ts'

/** UTF-8. A prompt that does not fit an argument list is given by standard input; it is bounded all the same. */
const PROMPT_BYTES_MAX = 49_152
const RESULT_CHARS_MAX = 4_000
const OBJECTIVE_CHARS_MAX = 500
const DECISIONS_TOLD_MAX = 16
/** Of a failing gate, and of all of them. */
const GATE_OUTPUT_CHARS_MAX = 512
const GATES_CHARS_MAX = 2_048

const TASK = [
  'You form the next step of a campaign. You only read: you change nothing.',
  'Judge whether the mission is done by what is on trunk alone. Cut the next objective as the mission, less what is on trunk, less what is preserved and not landed yet.',
  'An objective that was given before is not given again: reconcile what it left, name the gap that blocks it, go another way, or escalate.',
].join('\n')

const ANSWER = [
  'Decide exactly one of:',
  '- done: every piece of done-evidence holds on trunk now;',
  '- advance: one objective, which one task can reach;',
  '- escalate: an owner must decide, or one of the conditions below has come about.',
  'Answer with one JSON object: {"decision": "done" | "advance" | "escalate", "reason": "...", "objective": "... (with advance only)"}.',
].join('\n')

export function promptOf(context: CampaignContext, result: TaskResult | undefined): string {
  const { asked } = context
  const sections = [
    TASK,
    section('Mission', asked.mission),
    section('Done-evidence', evidenceLines(context)),
    ANSWER,
    section('Budget', budgetLine(context)),
    section('Conditions in which you escalate', bullets(asked.escalation)),
    section('Decisions of the owners: they bind you', bullets(decisions(context))),
    section('The last task', lastTask(context, result)),
    section('Work that is preserved and has not landed', preserved(context)),
    section('Objectives so far', bullets(context.history.map(historyLine))),
    section('Gates that failed when it was looked last', gates(context)),
    section('Findings of others who serve the same outcome', findings(context)),
    section('Files to read first', bullets(asked.context_paths)),
    section('The intent behind it', bullets(asked.intent_refs)),
  ]
  return fitted(sections.filter((text) => text !== ''))
}

/** As many of the sections, in their order, as there is room for. */
function fitted(sections: readonly string[]): string {
  const kept: string[] = []
  let left = PROMPT_BYTES_MAX
  for (const [index, text] of sections.entries()) {
    const bytes = Buffer.byteLength(text) + 2
    if (bytes > left) {
      kept.push(`(${sections.length - index} more sections are left out: the prompt is long enough.)`)
      break
    }
    kept.push(text)
    left -= bytes
  }
  return `${kept.join('\n\n')}\n`
}

function section(title: string, text: string): string {
  return text === '' ? '' : `## ${title}\n\n${text}`
}

function bullets(lines: readonly string[] = []): string {
  return lines.map((line) => `- ${line}`).join('\n')
}

function evidenceLines({ asked }: CampaignContext): string {
  const lines = asked.done_evidence.map(({ kind, command, required = true, artifacts, statement }, index) => {
    if (kind === 'review') return `${evidenceName(index)}, to be judged: ${statement}`
    const files = artifacts === undefined || artifacts.length === 0 ? '' : `, with ${artifacts.join(', ')} there`
    return `${evidenceName(index)}${required ? '' : ' (not required)'}: \`${command}\` succeeds on trunk${files}`
  })
  return bullets(lines)
}

function budgetLine({ cycles_completed, cycles_landed, max_cycles }: CampaignContext): string {
  return `${cycles_completed} of ${max_cycles} tasks were dispatched, ${cycles_landed} landed.`
}

function decisions({ owner_decisions }: CampaignContext): readonly string[] {
  return owner_decisions
    .slice(-DECISIONS_TOLD_MAX)
    .map(({ decision, authorized_by, decided_at }) => `${decision} (${authorized_by}, ${decided_at})`)
}

function lastTask({ history }: CampaignContext, result: TaskResult | undefined): string {
  if (result === undefined) return ''
  const given_up = history.find(({ outcome }) => outcome.item_id === result.item_id)?.outcome.given_up
  const { verdict, landed, land_blocked, summary, gaps, diagnosis, finding, options, detail } = result.payload
  const said = JSON.stringify({ summary, gaps, diagnosis, finding, options, detail }, null, 1)
  const blocked = land_blocked === undefined ? '' : `, blocked: ${land_blocked}`
  const head = `Verdict ${verdict}, ${landed === true ? 'landed' : `not landed${blocked}`}.`
  const rejected =
    given_up === undefined ? '' : ` Its owner gave that work up, and nothing is built upon it: ${given_up}`
  return `${head}${rejected}\n\n${fenced(clipped(said, RESULT_CHARS_MAX), 'the last task')}`
}

function preserved(context: CampaignContext): string {
  const ref = nextBaseRef(context)
  return ref === undefined ? '' : `${ref}: the next task starts from it.`
}

function historyLine({ cycle, objective, outcome }: ObjectiveEntry): string {
  const { state, verdict, landed, given_up } = outcome
  const came =
    state === undefined ? 'nothing yet' : `${verdict ?? state}${landed === true ? ', landed' : ', not landed'}`
  const why = given_up === undefined ? '' : `, given up by its owner: ${given_up}`
  return `cycle ${cycle} (${came}${why}): ${clipped(objective.replace(/\s+/g, ' '), OBJECTIVE_CHARS_MAX)}`
}

function findings({ internal }: CampaignContext): string {
  const { findings: found = [] } = internal
  if (found.length === 0) return ''
  const line = ({ finding_id, kind, text }: SharedFinding): string =>
    `${finding_id} (${kind}): ${clipped(text.replace(/\s+/g, ' '), OBJECTIVE_CHARS_MAX)}`
  return fenced(found.map(line).join('\n'), 'findings')
}

function gates({ gate_results = [] }: CampaignContext): string {
  let left = GATES_CHARS_MAX
  const told: string[] = []
  for (const { name = 'a gate', passed, output = '' } of gate_results as readonly Record<string, any>[]) {
    if (passed !== false || left <= 0) continue
    const end = String(output).slice(-Math.min(left, GATE_OUTPUT_CHARS_MAX)).toWellFormed()
    left -= end.length
    told.push(fenced(end, name))
  }
  return told.join('\n')
}
