/**
 * The prompt of a formation: what a read-only agent is told when asked for the next step. Pure and bounded: sections
 * that do not fit are left out, and the prompt says so; never its task, its mission and what owners decided. Words from
 * runs and repositories are fenced, and names they gave are quoted: they are data.
 */
import { clipped } from '../clipped.ts'
import { bullets, decisionBullets, document, fencedLines, lineOf, paragraphs, section } from '../prompt-text.ts'
import { fenced, quotedName } from '../untrusted-text.ts'
import { nextBaseRef } from './chain.ts'
import type { CampaignContext, ObjectiveEntry, SharedFinding, Start } from './context.ts'
import { evidenceName } from './evidence.ts'

/** UTF-8. A prompt that does not fit an argument list is passed on standard input; it is bounded all the same. */
const PROMPT_BYTES_MAX = 49_152
const RESULT_CHARS_MAX = 4_000
const OBJECTIVE_CHARS_MAX = 500
const REASON_CHARS_MAX = 500
const REF_CHARS_MAX = 500
/** For one failing gate, and for all of them together. */
const GATE_OUTPUT_CHARS_MAX = 512
const GATES_CHARS_MAX = 2_048

const TASK = [
  'You form the next step of a campaign. This is read-only: change nothing.',
  'Judge whether the mission is done only by what is on trunk. The next objective is taken from the mission, minus what is on trunk, minus work that is preserved and not landed yet.',
  'Do not give an objective that was given before: reconcile what it left, name the gap that blocks it, take another approach, or escalate.',
].join('\n')

const ANSWER = [
  'Decide exactly one of:',
  '- done: every piece of done-evidence holds on trunk now;',
  '- advance: one objective, which a single task can reach;',
  '- escalate: an owner must decide, or one of the conditions below applies.',
  'Answer with one JSON object: {"decision": "done" | "advance" | "escalate", "reason": "...", "objective": "... (with advance only)"}.',
].join('\n')

export function promptOf(context: CampaignContext, result: Start | undefined): string {
  const { asked } = context
  const mission = section('Mission', paragraphs(asked.mission))
  const budget = section('Budget', budgetLine(context))
  const roomBytes = PROMPT_BYTES_MAX - bytesOf([TASK, mission, ANSWER, budget])
  const decided = section('Decisions of owners: these are binding', decisionBullets(decisions(context), roomBytes))
  const sections = [
    TASK,
    mission,
    section('Done-evidence', evidenceLines(context)),
    ANSWER,
    budget,
    section('Conditions under which you must escalate', bullets(asked.escalation ?? [])),
    decided,
    section('The last task', lastTask(context, result)),
    section('Work that is preserved and has not landed', preserved(context)),
    section('Objectives so far', fencedLines(context.history.map(historyLine), 'the objectives so far')),
    section('Gates that failed when last run', gates(context)),
    section('Findings on the way to the same outcome', findings(context)),
    section('Files to read first', bullets(asked.context_paths ?? [])),
    section('The intent behind it', bullets(asked.intent_refs ?? [])),
  ].filter((text) => text !== '')
  return fitted(sections, new Set([TASK, mission, ANSWER, budget, decided]))
}

/** The needed sections, and in order those of the others that fit beside them. */
function fitted(sections: readonly string[], needed: ReadonlySet<string>): string {
  let left = PROMPT_BYTES_MAX - bytesOf([...needed])
  const kept = sections.filter((text) => {
    if (needed.has(text)) return true
    const bytes = bytesOf([text])
    const fits = bytes <= left
    if (fits) left -= bytes
    return fits
  })
  const omitted = sections.length - kept.length
  const note = `(${omitted} more sections are omitted to limit the length of the prompt.)`
  return document(...kept, omitted === 0 ? '' : note)
}

/** With the blank line after each. */
function bytesOf(sections: readonly string[]): number {
  return sections.reduce((sum, text) => sum + Buffer.byteLength(text) + 2, 0)
}

function evidenceLines({ asked }: CampaignContext): string {
  const lines = asked.done_evidence.map(({ kind, command, required = true, artifacts, statement }, index) => {
    if (kind === 'review') return `${evidenceName(index)}, to be judged: ${statement}`
    const files = artifacts === undefined || artifacts.length === 0 ? '' : `, with ${artifacts.join(', ')} present`
    return `${evidenceName(index)}${required ? '' : ' (not required)'}: \`${command}\` succeeds on trunk${files}`
  })
  return bullets(lines)
}

function budgetLine({ cycles_completed, cycles_landed, max_cycles }: CampaignContext): string {
  return `${cycles_completed} of ${max_cycles} tasks were dispatched, ${cycles_landed} landed.`
}

function decisions({ owner_decisions }: CampaignContext): readonly string[] {
  return owner_decisions.map(
    ({ decision, authorized_by, decided_at }) => `${decision} (${authorized_by}, ${decided_at})`,
  )
}

function lastTask({ history }: CampaignContext, { item_id, payload }: Start = {}): string {
  if (payload === undefined) return ''
  const given_up = history.find(({ outcome }) => outcome.item_id === item_id)?.outcome.given_up
  const { verdict, landed, land_blocked, summary, gaps, diagnosis, finding, options, detail } = payload
  const said = JSON.stringify({ summary, gaps, diagnosis, finding, options, detail }, null, 1)
  const blocked = land_blocked === undefined ? '' : `, blocked: ${land_blocked}`
  const head = `Verdict ${verdict}, ${landed === true ? 'landed' : `not landed${blocked}`}.`
  const rejected =
    given_up === undefined
      ? ''
      : ` Its owner gave up that work, and nothing is built upon it: ${lineOf(given_up, REASON_CHARS_MAX)}`
  return `${head}${rejected}\n\n${fenced(clipped(said, RESULT_CHARS_MAX), 'the last task')}`
}

function preserved(context: CampaignContext): string {
  const ref = nextBaseRef(context)
  return ref === undefined ? '' : `${quotedName(ref, REF_CHARS_MAX)}: the next task starts from it.`
}

function historyLine({ cycle, objective, outcome }: ObjectiveEntry): string {
  const { state, verdict, landed, given_up } = outcome
  const came =
    state === undefined ? 'nothing yet' : `${verdict ?? state}${landed === true ? ', landed' : ', not landed'}`
  const why = given_up === undefined ? '' : `, given up by its owner: ${lineOf(given_up, REASON_CHARS_MAX)}`
  return `cycle ${cycle} (${came}${why}): ${lineOf(objective, OBJECTIVE_CHARS_MAX)}`
}

function findings({ internal }: CampaignContext): string {
  const line = ({ finding_id, kind, text }: SharedFinding): string =>
    `${finding_id} (${kind}): ${lineOf(text, OBJECTIVE_CHARS_MAX)}`
  return fencedLines((internal.findings ?? []).map(line), 'findings')
}

function gates({ gate_results = [] }: CampaignContext): string {
  let left = GATES_CHARS_MAX
  const failed: string[] = []
  for (const { name = 'a gate', passed, output = '' } of gate_results as readonly Record<string, any>[]) {
    if (passed !== false || left <= 0) continue
    const end = String(output).slice(-Math.min(left, GATE_OUTPUT_CHARS_MAX)).toWellFormed()
    left -= end.length
    failed.push(fenced(end, name))
  }
  return failed.join('\n')
}
