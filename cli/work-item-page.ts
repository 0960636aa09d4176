/** Work items for people: one in full, or a list, on wide and narrow terminals. */
import { isForItsSource, type Question } from '../machines/work-item/anew.ts'
import type { Document } from './document.ts'
import { cut, type Printer, safe, said } from './print.ts'
import { takerFor } from './run-request-page.ts'
import { usageFields } from './usage-fields.ts'

/** How much of an objective a table shows: the rest is in `queue show`. */
const OBJECTIVE_COLUMNS = 44

/** Items below a heading; prints nothing for an empty list. */
export function printItems(
  print: Printer,
  heading: string,
  items: readonly Document[],
  since: (item: Document) => string,
): void {
  if (items.length === 0) return
  print.heading(heading)
  listItems(print, items, since)
}

/** The same without a heading. An empty list is stated in words. */
export function listItems(print: Printer, items: readonly Document[], since: (item: Document) => string): void {
  if (print.isNarrow && items.length > 0) printNarrow(print, items, since)
  else printWide(print, items, since)
}

function printWide(print: Printer, items: readonly Document[], since: (item: Document) => string): void {
  const rows = items.map((item) => [
    item.id,
    print.state(item.state),
    item.project,
    item.lane,
    print.age(since(item)),
    cut(whatOf(item), OBJECTIVE_COLUMNS),
    safe(whyOf(item)),
  ])
  print.table(['ID', 'STATE', 'PROJECT', 'LANE', 'FOR', 'WHAT', 'WHY'], rows, 'No work items.')
}

function printNarrow(print: Printer, items: readonly Document[], since: (item: Document) => string): void {
  for (const item of items) {
    const figures = print.tint(`${item.id}  ${item.project}  ${print.age(since(item))}`, 'dim')
    print.stack(`${print.state(item.state)} ${whatOf(item)}`, [figures, safe(whyOf(item))])
  }
}

/** A cycle's task is shown with its campaign: `pay 2: Send the invoice`. */
function whatOf({ objective, source }: Document): string {
  return source?.cycle === undefined ? safe(objective) : `${safe(source.ref)} ${source.cycle}: ${safe(objective)}`
}

const TIMES = ['submitted', 'started', 'settled']

/** One item: its state and why, its outcome, the actions of owners, and what can be done now. */
export function showItem(item: Document, print: Printer, question?: Question): void {
  const { disposition: ended = {}, source } = item
  print.fields([
    ['id', item.id],
    ['state', print.state(item.state)],
    ['reason', safe(item.reason)],
    ['waits because', said(item.state === 'running' ? item.waiting_because?.detail : undefined)],
    ['asks', said(question?.finding)],
    ['answers', question?.options.map(safe).join(' | ')],
    ['objective', safe(item.objective)],
    ['project', item.project],
    ['kind', `${item.kind}, lane ${item.lane}`],
    ['waits for', item.depends_on?.join(', ')],
    ['not before', item.not_before],
    ['from', said(item.base_ref)],
    ['resumes', item.resumes],
    ['resumed as', item.resumptions?.map((one: Document) => `${one.item_id} (${one.state ?? 'under way'})`).join(', ')],
    ['built upon by', item.built_upon_by === undefined ? undefined : `campaign ${item.built_upon_by}`],
    ['labels', item.labels?.join(', ')],
    ['run request', item.run_request_id],
    ['runner', item.running_on],
    ['verdict', ended.verdict],
    ['landed as', said(ended.landed_commit)],
    ['preserved as', said(ended.preservation_ref)],
    ['worktree', said(ended.worktree)],
    ...usageFields(item.usage),
    ['trace', item.trace_id],
    ['source', [source.kind, safe(source.ref), source.role, source.cycle].filter(Boolean).join(' ')],
    ['origin', safe(item.origin)],
    ...TIMES.map((name) => [name, item[`${name}_at`]] as const),
    ...(item.operator_actions ?? []).map((action: Document) => [action.command, deed(action)] as const),
  ])
  const advice = adviceFor(item)
  if (advice.length > 0) print.line(`\n${advice.join('\n')}`)
}

/** The reason for its state; for a started item whose run waits for a runner again, why it waits. */
function whyOf({ state, reason, waiting_because: why }: Document): string {
  return state === 'running' ? (why?.detail ?? reason) : reason
}

function deed({ at, by, origin, previous_state }: Document): string {
  return `${at} by ${safe(by?.name ?? 'unknown')} (${safe(origin)}), previously ${previous_state}`
}

/** Commands that a person can use when the item needs somebody. */
export function adviceFor(item: Document): string[] {
  const { id, state, disposition, started_at, run_request_id: run, reason_code, waiting_because: why } = item
  const close = `intendant queue close ${id} --reason TEXT`
  const retry = isForItsSource(item) ? [] : [`intendant queue retry ${id}`]
  // Closing it ends that, so its campaign comes first.
  if (item.built_upon_by !== undefined) return [goesOnIn(item.built_upon_by), close]
  switch (state) {
    case 'preserved':
      if (resumedAs(item) !== undefined)
        return [`it continues as ${resumedAs(item)}: intendant queue show ${resumedAs(item)}`]
      return disposition?.preservation_ref === undefined ? [...retry, close] : [`intendant queue resume ${id}`, close]
    case 'needs_decision':
      if (started_at === undefined) return [`intendant queue release ${id}`, close]
      return [isForItsSource(item) ? decidedIn(item) : `intendant queue answer ${id} --decision TEXT`, close]
    case 'failed':
      return [...retry, close]
    case 'running':
      // It only counts as running, and a person must decide.
      if (why?.code === 'provider_unavailable') return [`intendant run-request requeue ${run}`, 'intendant runner list']
      return reason_code === 'run_lost'
        ? [`intendant run-request requeue ${run}`, `intendant run-request fail ${run} --message TEXT`]
        : []
    case 'held':
      return [`intendant queue release ${id}`]
    case 'queued':
      if (why?.code === 'runner_removed') return [`intendant queue cancel ${id}`]
      if (why?.code === 'limited') return ['intendant runner unlimit ID, if its provider is back']
      // A runner that is drained or offline does not help; the list shows that.
      return why?.code === 'no_runner'
        ? ['intendant runner list', takerFor(item, { code: 'no_runner_registered' })!.command]
        : []
    default:
      return []
  }
}

/** The item that resumes it and has not settled: until then another resumption is refused. */
function resumedAs({ resumptions = [] }: Document): string | undefined {
  return resumptions.find(({ state }: Document) => state === undefined)?.item_id
}

/** If it were resumed besides, its work would be done twice. */
function goesOnIn(campaign: string): string {
  return `campaign ${campaign} builds upon it: intendant campaign show ${campaign}`
}

function decidedIn({ source: { kind, ref } }: Document): string {
  return `${kind} ${ref} takes the decision: intendant ${kind} show ${ref}`
}

/** The end of an item on one line. */
export function endOf(item: Document, print: Printer): string {
  return `${item.id} ${print.state(item.state)}: ${safe(item.reason)}`
}
