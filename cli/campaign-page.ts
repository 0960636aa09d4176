/** Campaigns for people: one in full, or a list, on wide and narrow terminals. */
import { type Need, needOf } from '../machines/campaign/needs.ts'
import type { Document } from './document.ts'
import { INDENT, type Printer, safe, said } from './print.ts'
import { usageFields } from './usage-fields.ts'

export function printCampaigns(print: Printer, heading: string, campaigns: readonly Document[]): void {
  if (campaigns.length === 0) return
  print.heading(heading)
  listCampaigns(print, campaigns, '')
}

export function listCampaigns(print: Printer, campaigns: readonly Document[], none: string): void {
  if (campaigns.length > 0 && print.isNarrow) {
    printNarrow(print, campaigns)
    return
  }
  const rows = campaigns.map((one) => [
    one.name,
    print.state(one.status),
    one.project,
    cyclesOf(one),
    print.age(one.since),
    nowOf(one),
    whyOf(one),
  ])
  print.table(['CAMPAIGN', 'STATUS', 'PROJECT', 'CYCLES', 'FOR', 'NOW', 'WHY'], rows, none)
}

function printNarrow(print: Printer, campaigns: readonly Document[]): void {
  for (const one of campaigns) {
    const figures = print.tint(`${one.project}  ${cyclesOf(one)}  ${print.age(one.since)}`, 'dim')
    print.stack(`${print.state(one.status)} ${one.name}  ${nowOf(one)}`, [figures, whyOf(one)])
  }
}

/** Dispatched cycles of those that the budget allows, and landed ones, if any. */
function cyclesOf({ cycles_completed, cycles_landed, budget }: Document): string {
  const landed = cycles_landed === 0 ? '' : `, ${cycles_landed} landed`
  return `${cycles_completed}/${budget.max_cycles}${landed}`
}

/** What happens now, in a few words. */
function nowOf({ stage, work }: Document): string {
  if (work === undefined) return stage
  const what = work.role === 'cycle' ? `cycle ${work.cycle}` : 'forming'
  return work.state === undefined ? what : `${what}, ${work.state}`
}

/** Why; first of all the reason of its item, which waits or has failed. For a pause that ends by itself, also when. */
function whyOf({ reason, work, paused }: Document): string {
  const until = paused?.until === undefined ? '' : `; continues at ${paused.until}`
  return safe(`${work?.reason === undefined ? '' : `${work.reason}; `}${reason}${until}`)
}

/** One campaign: its status and why, what happens now, what it needs, what was done. */
export function showCampaign(campaign: Document, print: Printer): void {
  const { question, paused, budget } = campaign
  print.fields([
    ['name', campaign.name],
    ['status', print.state(campaign.status)],
    ['reason', safe(campaign.reason)],
    ['since', campaign.since],
    ['mission', safe(campaign.mission)],
    ['project', campaign.project],
    ['cycles', `${cyclesOf(campaign)}, ${budget.remaining} left`],
    ['asks', question === undefined ? undefined : safe(question.finding)],
    ['answers', question === undefined ? undefined : question.options.map(safe).join(' | ')],
    ['starts from', said(campaign.base_ref)],
    ['escalated', said(paused?.escalated)],
    ['continues at', paused?.until],
    ['provider', said(campaign.agent_provider)],
    ['labels', campaign.labels?.join(', ')],
    ['authorized', campaign.authorized_by === undefined ? 'by nobody' : `by ${safe(campaign.authorized_by)}`],
    ...usageFields(campaign.usage),
    ['added', `${campaign.created_at} by ${safe(campaign.added_by.name)}`],
    ['ended', campaign.ended_at],
    ['trace', campaign.trace_id],
  ])
  showWork(campaign, print)
  showEvidence(campaign, print)
  showHistory(campaign, print)
  const advice = adviceFor(campaign)
  if (advice.length > 0) print.line(`\n${advice.join('\n')}`)
}

function showWork({ work }: Document, print: Printer): void {
  if (work === undefined) return
  print.heading('Now')
  print.fields([
    ['item', work.item_id],
    ['what', work.role === 'cycle' ? `cycle ${work.cycle}: ${safe(work.objective)}` : 'its next step is being formed'],
    ['state', work.state === undefined ? undefined : print.state(work.state)],
    ['why', said(work.reason)],
    ['runner', work.running_on],
    ['for', print.age(work.since)],
  ])
}

function showEvidence({ done_evidence, gate_results = [] }: Document, print: Printer): void {
  print.heading('Done-evidence')
  const rows = done_evidence.map(({ name, kind, command, statement, required = true }: Document) => [
    name,
    kind === 'gate' ? lastOf(gate_results, name, print) : 'review',
    `${safe(command ?? statement)}${required ? '' : ' (not required)'}`,
  ])
  print.tableInFull(['NAME', 'LAST', 'WHAT'], rows, '')
}

function lastOf(results: readonly Document[], name: string, print: Printer): string {
  const passed = results.findLast((one) => one.name === name)?.passed
  if (passed === undefined) return 'not run'
  return passed ? print.tint('passed', 'good') : print.tint('failed', 'bad')
}

function showHistory({ objective_history = [], owner_decisions = [] }: Document, print: Printer): void {
  if (objective_history.length > 0) {
    const isWhole = objective_history[0].cycle === 1
    print.heading(isWhole ? 'Objectives' : `Objectives (the last ${objective_history.length})`)
    const rows = objective_history.map(({ cycle, objective, outcome }: Document) => [
      String(cycle),
      outcome.item_id,
      outcome.state === undefined ? 'under way' : print.state(outcome.state),
      outcome.verdict ?? '',
      safe(objective),
    ])
    print.tableInFull(['CYCLE', 'ITEM', 'STATE', 'VERDICT', 'WHAT'], rows, '')
  }
  if (owner_decisions.length === 0) return
  print.heading('Decisions')
  for (const { decision, authorized_by, decided_at } of owner_decisions)
    print.text(`${decided_at}  ${safe(authorized_by)}: ${safe(decision)}`, INDENT)
}

function needFor({ status, stage, question, paused, budget }: Document): Need | undefined {
  return needOf({ status, isIdle: stage === 'idle', cyclesLeft: budget.remaining, question, paused })
}

/** Commands that a person can use when the campaign needs somebody. */
export function adviceFor(campaign: Document): string[] {
  const { name } = campaign
  const resume = `intendant campaign resume ${name}`
  const resumeWithMore = `${resume} --add-cycles N`
  const decide = `intendant campaign decide ${name} --decision TEXT`
  const complete = `intendant campaign complete ${name} --reason TEXT`
  const need = needFor(campaign)
  switch (need?.is) {
    case 'advance':
      return [`intendant campaign advance ${name}`]
    case 'resume':
      return [need.lacksCycles ? resumeWithMore : resume]
    case 'escalated':
      if (need.asks === 'cycles') return [resumeWithMore, complete]
      if (need.isPaused) return [resume, decide]
      return need.asks === 'answer' ? [decide] : [decide, resume, complete]
    default:
      return []
  }
}
