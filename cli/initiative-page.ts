/** Initiatives for people: one in full, or a list, on wide and narrow terminals. */
import type { Document } from './document.ts'
import { cut, INDENT, type Printer, safe, type Tint } from './print.ts'

const OUTCOME_COLUMNS = 48
const BAR_CELLS = 12
/** Number of recent assessments and findings shown with the initiative. */
const ROWS_SHOWN = 8
const TWICE = INDENT + INDENT

const OUTCOME_TINTS: Readonly<Record<string, Tint>> = {
  applied: 'good',
  rejected: 'warn',
  stale: 'warn',
  failed: 'bad',
  skipped: 'dim',
  no_op: 'dim',
  waited: 'dim',
}

type Member = { readonly kind: string; readonly ref: string }

export function memberText({ kind, ref }: Member): string {
  return safe(`${kind}:${ref}`)
}

export function printInitiatives(items: readonly Document[], print: Printer): void {
  if (items.length === 0) {
    print.line('No initiatives.')
    return
  }
  if (print.isNarrow) {
    for (const item of items) {
      print.stack(`${print.state(item.status)} ${item.name}`, [safe(item.outcome), nowOf(item, print)])
    }
    return
  }
  const rows = items.map((item) => [
    item.name,
    print.state(item.status),
    String(item.members.length),
    `${item.assessments_made}/${item.budget.max_assessments}`,
    `${item.actions_applied}/${item.budget.max_actions}`,
    print.age(item.created_at),
    nowOf(item, print),
    cut(safe(item.outcome), OUTCOME_COLUMNS),
  ])
  print.table(['NAME', 'STATUS', 'MEMBERS', 'ASSESSED', 'ACTIONS', 'AGE', 'NOW', 'OUTCOME'], rows, '')
}

/** What is going on, in a few words; first what needs a person. */
function nowOf({ status, questions, close_proposals, assessment, waiting, reason }: Document, print: Printer): string {
  if (status !== 'active') return safe(reason ?? '')
  if (questions.length > 0) return print.tint(`asks you (${questions.length})`, 'bad')
  if (close_proposals.length > 0) return print.tint('proposes its end', 'warn')
  if (assessment !== undefined) return `${assessment.phase} ${print.age(assessment.requested_at)}`
  return waiting.length > 0 ? `${waiting.length} wait` : 'quiet'
}

export function showInitiative(item: Document, print: Printer): void {
  const { name, status, budget, assessment, waiting } = item
  print.text(
    `${print.tint(name, 'strong')} ${print.state(status)}${item.reason === undefined ? '' : `: ${safe(item.reason)}`}`,
    INDENT,
  )
  print.text(safe(item.outcome))
  print.line()
  print.fields([
    ['assessments', spent(item.assessments_made, budget.max_assessments, print)],
    ['actions', spent(item.actions_applied, budget.max_actions, print)],
    ['now', assessment === undefined ? undefined : underWay(assessment, print)],
    ['waits', waiting.length === 0 ? undefined : waiting.map(triggerText).join(', ')],
    ['authorized by', safe(item.authorized_by)],
    ['projects', item.projects.join(', ')],
    ['intent', item.intent_refs.length === 0 ? undefined : safe(item.intent_refs.join(', '))],
    ['added', `${item.created_at} by ${safe(item.created_by.name)}`],
    ['ended', item.ended_at],
  ])
  needsYou(item, print)
  print.section(
    'Members',
    item.members.map((member: Document) => memberLine(item, member, print)),
  )
  print.section('Owner', ownersWords(item, print))
  assessments(item, print)
  if (item.findings.length > 0) {
    print.heading(item.findings.length > ROWS_SHOWN ? `Findings (the last ${ROWS_SHOWN})` : 'Findings')
    showFindings(item.findings.slice(-ROWS_SHOWN), print)
  }
}

/** How much of a bound is used, as a bar and in numbers. */
function spent(used: number, most: number, print: Printer): string {
  const share = most === 0 ? 1 : Math.min(1, used / most)
  const full = Math.round(share * BAR_CELLS)
  const bar = `${'█'.repeat(full)}${'░'.repeat(BAR_CELLS - full)}`
  return `${print.tint(bar, share >= 1 ? 'bad' : share >= 0.8 ? 'warn' : 'good')} ${used} of ${most}`
}

function underWay(assessment: Document, print: Printer): string {
  return `${assessment.phase} ${triggerText(assessment)} as ${assessment.item_id}, ${print.age(assessment.requested_at)}`
}

function triggerText({ trigger_id, member, follow_up_of }: Document): string {
  const about = member === undefined ? '' : ` (${memberText(member)})`
  return `${safe(trigger_id)}${about}${follow_up_of === undefined ? '' : ` after ${follow_up_of.step}`}`
}

function needsYou({ status, name, questions, close_proposals }: Document, print: Printer): void {
  if (status !== 'active' || questions.length + close_proposals.length === 0) return
  print.heading('Needs you')
  for (const { id, kind, text, options, member, at } of questions) {
    const whose = member === undefined ? '' : ` ${memberText(member)}`
    print.text(`${INDENT}${print.tint(kind, 'bad')}${whose} ${print.age(at)}: ${safe(text)}`, TWICE)
    if (options !== undefined) print.text(`${TWICE}${options.map(safe).join(' | ')}`, TWICE)
    print.line(`${TWICE}intendant initiative decide ${name} --question ${id} --decision TEXT`)
  }
  for (const { reason, at } of close_proposals) {
    print.text(`${INDENT}${print.tint('done?', 'warn')} ${print.age(at)}: ${safe(reason)}`, TWICE)
    print.line(`${TWICE}intendant initiative complete ${name} --reason TEXT`)
  }
}

/** The latest steering action about the member. */
function memberLine({ actions }: Document, member: Document, print: Printer): string {
  const about = (one: Document): boolean => one.member?.kind === member.kind && one.member?.ref === member.ref
  const last = actions.findLast(about)
  if (last === undefined) return memberText(member as Member)
  const what = last.objective === undefined ? '' : `: ${safe(last.objective)}`
  const item = last.item_id === undefined ? '' : ` as ${last.item_id}`
  return `${memberText(member as Member)}  ${last.decision} ${print.age(last.at)} ago${item}${what}`
}

function ownersWords({ owner_decisions, owner_actions }: Document, print: Printer): string[] {
  const decided = owner_decisions.map((one: Document) => ({
    at: one.at,
    text: `${whoSaid(one)}decided: ${one.decision}${one.applicable_members === undefined ? '' : ` (${one.applicable_members.map(memberText).join(', ')})`}`,
  }))
  const did = owner_actions.map((one: Document) => ({
    at: one.at,
    text: `${whoSaid(one)}${ownerActionText(one)}: ${one.reason}`,
  }))
  const all = [...decided, ...did].sort((a, b) => (a.at < b.at ? -1 : 1))
  return all.map(({ at, text }) => `${print.age(at).padStart(4)}  ${safe(text)}`)
}

/** `hold lifted project:shop`: what an owner's action does, and about whom. */
export function ownerActionText({ action, override, lifted, member }: Document): string {
  const words = [action, override, lifted === true ? 'lifted' : undefined]
  return [...words, member === undefined ? undefined : memberText(member)]
    .filter((word) => word !== undefined)
    .join(' ')
}

function whoSaid({ by }: Document): string {
  return by === undefined ? '' : `${by.name} `
}

function assessments({ assessments: all }: Document, print: Printer): void {
  if (all.length === 0) return
  print.heading(all.length > ROWS_SHOWN ? `Assessments (the last ${ROWS_SHOWN})` : 'Assessments')
  const shown = all.slice(-ROWS_SHOWN)
  const tinted = ({ outcome }: Document): string => print.tint(outcome, OUTCOME_TINTS[outcome])
  if (print.isNarrow) {
    for (const one of shown) {
      print.stackInFull(`${tinted(one)} ${one.decision ?? ''} ${print.age(one.at)}`, [
        safe(one.detail ?? ''),
        one.item_id,
      ])
    }
    return
  }
  const rows = shown.map((one: Document) => [
    print.age(one.at),
    tinted(one),
    one.decision ?? '',
    safe(one.provider ?? ''),
    one.item_id,
    safe(one.detail ?? ''),
  ])
  print.tableInFull(['AGO', 'OUTCOME', 'DECISION', 'PROVIDER', 'ITEM', 'WHY'], rows, '')
}

export function showFindings(findings: readonly Document[], print: Printer): void {
  if (findings.length === 0) {
    print.line('No findings.')
    return
  }
  const used = ({ consumed_by: by }: Document): string =>
    by.length === 0 ? print.tint('not used yet', 'dim') : print.tint(`used by ${by.length}`, 'good')
  if (print.isNarrow) {
    for (const one of findings) {
      print.stackInFull(`${one.kind} ${safe(one.text)}`, [
        `${used(one)}, ${print.age(one.recorded_at)}`,
        one.finding_id,
      ])
    }
    return
  }
  const rows = findings.map((one) => [
    one.finding_id,
    one.kind,
    print.age(one.recorded_at),
    used(one),
    one.to.map(memberText).join(', '),
    safe(one.text),
  ])
  print.tableInFull(['ID', 'KIND', 'AGE', 'USED', 'FOR', 'WHAT'], rows, '')
}
