/** The first page: how the service is, what needs a person, what runs, and what waits and why. */
import type { JSX } from 'preact'
import { UNFINISHED_STATUSES } from '../../machines/campaign/states.ts'
import { RENEW_CERTIFICATE } from '../../machines/certificate.ts'
import { LANES } from '../../machines/run-request/lanes.ts'
import { isSettledRun, RUN_REQUEST_STATES } from '../../machines/run-request/states.ts'
import { failingOf, skippingOf, unscheduledOf } from '../../machines/sentinel/last.ts'
import type { Action } from '../actions/action.ts'
import { ITEM_ACTIONS, LIMIT_LABEL, limitActions, pauseLane, WEIGH_PROJECT, weightActions } from '../actions/items.ts'
import { RUN_ACTIONS } from '../actions/runs.ts'
import { LIST_LIMIT_MAX } from '../api.ts'
import { type Document, idIn } from '../document.ts'
import type { Kind } from '../kinds/kind.tsx'
import { KINDS } from '../kinds.ts'
import { Actions } from '../parts/actions.tsx'
import { Age, Link, Linked, Loaded, Ref, Section, State } from '../parts/basics.tsx'
import { SelectableTable } from '../parts/selection.tsx'
import { type Column, Table } from '../parts/table.tsx'
import { hrefOf } from '../place.ts'
import { EVERY_MS, type Resource, useResource } from '../resource.ts'
import { useSession } from '../session.ts'
import { counted, withKept } from '../words.ts'

const UNFINISHED = UNFINISHED_STATUSES.join()
const UNSETTLED = RUN_REQUEST_STATES.filter((state) => !isSettledRun(state)).join()

/** How much needs a person; undefined: nothing, or that is not known. */
export function neededBy({ value }: Resource): string | undefined {
  if (value === undefined || value.items.length === 0) return undefined
  return `${value.items.length}${value.next_cursor === undefined ? '' : '+'}`
}

export function OverviewPage({ attention }: { attention: Resource }): JSX.Element {
  const { project } = useSession()
  const pacing = useResource('api/pacing')
  const runners = useResource('api/runners', { query: { limit: LIST_LIMIT_MAX }, everyMs: EVERY_MS })
  const campaigns = useResource('api/campaigns', {
    query: { project, status: UNFINISHED, limit: LIST_LIMIT_MAX },
    isChangedBy: ({ event_type }) => /^(campaign|work_item|run_request)_/.test(event_type),
  })
  const runs = useResource('api/run-requests', {
    query: { project, state: UNSETTLED, limit: LIST_LIMIT_MAX },
    isChangedBy: ({ event_type }) => event_type.startsWith('run_request_'),
    everyMs: EVERY_MS,
  })
  const sessions = useResource('api/agent-sessions', {
    query: { project, state: 'started', limit: LIST_LIMIT_MAX },
    isChangedBy: ({ event_type }) => event_type.startsWith('agent_session_'),
    everyMs: EVERY_MS,
  })
  const outputs = lastOutputs(sessions.value?.items ?? [])
  return (
    <>
      <h1 class="unseen">Overview</h1>
      <Figures pacing={pacing.value} attention={attention} runners={runners} project={project} />
      <Section title="Needs you">
        <Loaded from={attention}>
          {({ items, next_cursor: more }) => (
            <>
              <SelectableTable
                label="Needs you"
                rows={items}
                columns={ATTENTION}
                keyOf={keyOf}
                none="Nothing needs you."
                targetOf={(entry) => ({ of: subjectOf(entry), actions: ACTIONS[entry.kind] ?? [] })}
                onDone={attention.reload}
              />
              {more !== undefined && <p class="dim">The first {items.length}. All: intendant attention</p>}
            </>
          )}
        </Loaded>
      </Section>
      <Loaded from={pacing}>{(of) => <Ledger of={of} project={project} outputs={outputs} />}</Loaded>
      <Others title="Runs outside the ledger" kind={KINDS.runs!} from={runs} isShown={isOutside} />
      <Others title="Campaigns" kind={KINDS.campaigns!} from={campaigns} isShown={() => true} />
      <Loaded from={pacing}>{(of) => <Lanes of={of} onDone={pacing.reload} />}</Loaded>
      <Loaded from={pacing}>{(of) => <Labels of={of} onDone={pacing.reload} />}</Loaded>
      <Loaded from={pacing}>{(of) => <Weights of={of} onDone={pacing.reload} />}</Loaded>
    </>
  )
}

/** Runs without an item hold slots and repositories, too. */
function isOutside({ work_item_id: item }: Document): boolean {
  return item === undefined
}

interface OthersProps {
  readonly title: string
  readonly kind: Kind
  readonly from: Resource
  readonly isShown: (row: Document) => boolean
}

/** A section that is only there if there is something in it. */
function Others({ title, kind: { columns, idOf }, from, isShown }: OthersProps): JSX.Element | null {
  const rows = from.value?.items.filter(isShown) ?? []
  if (rows.length === 0 && from.problem === undefined) return null
  return (
    <Section title={title}>
      <Loaded from={from}>
        {() => <Table label={title} rows={rows} columns={columns} keyOf={idOf} none="None." />}
      </Loaded>
    </Section>
  )
}

const inProject =
  (project: string | undefined) =>
  (row: Document): boolean =>
    project === undefined || row.project === project

interface FiguresProps {
  readonly pacing: Document | undefined
  readonly attention: Resource
  readonly runners: Resource
  readonly project: string | undefined
}

function Figures({ pacing, attention, runners, project }: FiguresProps): JSX.Element {
  const fleet: readonly Document[] = runners.value?.items ?? []
  const online = fleet.filter(({ presence }) => presence === 'online')
  const slots = sum(online, ({ capacity }) => capacity)
  const used = sum(online, ({ in_flight }) => in_flight.length)
  const needed = neededBy(attention)
  return (
    <div class="figures">
      <Figure href="#/" name="need you" value={attention.value && (needed ?? 0)} isBad={needed !== undefined} />
      <Figure
        href={hrefOf(['items'], { state: 'running' })}
        name={
          project === undefined ? `of ${pacing?.max_running ?? '…'} running or handed out` : 'running or handed out'
        }
        value={pacing?.running.filter(inProject(project)).length}
      />
      <Figure href={WAITING_HREF} name="waiting" value={pacing && waitingIn(pacing, project)} />
      <Figure
        href="#/runners"
        name={`of ${counted(fleet.length, 'runner')} online`}
        value={runners.value && online.length}
        isBad={fleet.length > 0 && online.length === 0}
      />
      <Figure href="#/runners" name={`of ${counted(slots, 'slot')} used`} value={runners.value && used} />
    </div>
  )
}

const WAITING_HREF = hrefOf(['items'], { state: 'submitted,queued,held' })

function sum(rows: readonly Document[], of: (row: Document) => number): number {
  return rows.reduce((total, row) => total + of(row), 0)
}

/** Only the first ones are listed with their projects. */
function waitingIn({ waiting, waiting_count: count }: Document, project: string | undefined): string {
  if (project === undefined) return String(count)
  return `${waiting.filter(inProject(project)).length}${waiting.length < count ? '+' : ''}`
}

interface FigureProps {
  readonly href: string
  readonly name: string
  readonly value: string | number | undefined
  readonly isBad?: boolean
}

function Figure({ href, name, value, isBad = false }: FigureProps): JSX.Element {
  return (
    <Link class={isBad ? 'figure bad' : 'figure'} to={href}>
      <b>{value ?? '–'}</b> {name}
    </Link>
  )
}

/** What an entry of the attention list is about: its document is under the name of its kind. */
function subjectOf(entry: Document): Document {
  return entry[entry.kind] ?? {}
}

function keyOf(entry: Document): string {
  return `${entry.kind} ${entry.reason} ${entry.project} ${idIn(subjectOf(entry))}`
}

/** What can be done to many of them at once. */
const ACTIONS: Readonly<Record<string, readonly Action[]>> = { run_request: RUN_ACTIONS, work_item: ITEM_ACTIONS }

/** Under which name its id leads to its page. */
const AS: Readonly<Record<string, string>> = {
  campaign: 'campaign',
  initiative: 'initiative',
  stalled_project: 'project',
  sentinel: 'sentinel',
}

const ATTENTION: readonly Column[] = [
  { head: 'Why', cell: ({ reason }) => <State of={reason} /> },
  { head: 'Project', cell: ({ project }) => project },
  {
    head: 'What',
    cell: (entry) => (
      <Ref
        to={entry.kind === 'stalled_project' ? subjectOf(entry).key : idIn(subjectOf(entry))}
        as={AS[entry.kind] ?? ''}
      >
        {aboutOf(entry)}
      </Ref>
    ),
    isWide: true,
  },
  { head: 'It says', cell: (entry) => <Linked text={saysOf(entry)} />, isWide: true },
  { head: 'For', cell: ({ since }) => <Age of={since} /> },
]

/** What it is, in the first words of its own text. */
function aboutOf(entry: Document): string {
  const { title, mission, outcome, objective, payload, entry_event, name, key, intent_record } = subjectOf(entry)
  const { governed_by: brief, certificate } = entry
  if (certificate !== undefined) return 'TLS certificate of the service'
  const said = [brief?.title, brief?.objective, title, intent_record?.title, mission?.objective, mission, outcome]
  return [...said, objective, payload?.objective, entry_event, name, key].find((text) => typeof text === 'string') ?? ''
}

/** What it asks, or why it is stuck. */
function saysOf(entry: Document): string {
  const { reason, questions, close_proposals, waiting_because, lapsed, because, disposition } = subjectOf(entry)
  if (entry.certificate !== undefined) return `expires at ${entry.certificate.expires_at}: ${RENEW_CERTIFICATE}`
  const asked = questions?.[0]?.text ?? close_proposals?.[0]?.reason ?? lapsed?.detail ?? ofSentinel(entry)
  const why = Array.isArray(because) ? because[0]?.detail : undefined
  return withKept(asked ?? entry.because?.detail ?? waiting_because?.detail ?? why ?? reason ?? '', disposition)
}

function ofSentinel({ reason, sentinel }: Document): string | undefined {
  if (reason === 'failing') return failingOf(sentinel)
  if (reason === 'unscheduled') return unscheduledOf(sentinel)
  return reason === 'skipping' ? skippingOf(sentinel) : undefined
}

interface LedgerProps {
  readonly of: Document
  readonly project: string | undefined
  readonly outputs: ReadonlyMap<string, string>
}

/** By item, when its agent last wrote: one that has been silent for long may be stuck. */
function lastOutputs(sessions: readonly Document[]): ReadonlyMap<string, string> {
  const last = new Map<string, string>()
  for (const { work_item_id: item, last_output_at: at } of sessions)
    if (item !== undefined && at !== undefined && at > (last.get(item) ?? '')) last.set(item, at)
  return last
}

function Ledger({ of, project, outputs }: LedgerProps): JSX.Element {
  const isShown = inProject(project)
  const { running, waiting, waiting_count: count } = of
  return (
    <>
      <Section title="Running">
        <Table
          label="Running"
          rows={running.filter(isShown)}
          columns={[...ITEMS, { head: 'Last output', cell: ({ id }) => <Age of={outputs.get(id)} /> }]}
          keyOf={({ id }) => id}
          none="Nothing is running."
        />
      </Section>
      <Section title="Waiting">
        <Table
          label="Waiting"
          rows={waiting.filter(isShown)}
          columns={ITEMS}
          keyOf={({ id }) => id}
          none="Nothing waits."
        />
        {waiting.length < count && (
          <p class="dim">
            Those among the first {waiting.length} of {count}. All: <Link to={WAITING_HREF}>work that waits</Link>
          </p>
        )}
      </Section>
    </>
  )
}

function Lanes({ of: { lanes, unreadable }, onDone }: { of: Document; onDone: () => unknown }): JSX.Element {
  return (
    <Section title="Lanes">
      {unreadable === true && <p class="problem">The pause state cannot be read: every lane is paused.</p>}
      <ul class="lanes">
        {LANES.map((lane) => (
          <Lane key={lane} of={lanes.find((one: Document) => one.lane === lane) ?? { lane }} onDone={onDone} />
        ))}
      </ul>
    </Section>
  )
}

function Lane({ of, onDone }: { of: Document; onDone: () => unknown }): JSX.Element {
  const { lane, paused = false, since, by } = of
  return (
    <li>
      <b>{lane}</b> <State of={paused ? 'paused' : 'active'} />{' '}
      {paused && (
        <span class="dim">
          by {by?.name ?? 'unknown'}, <Age of={since} />
        </span>
      )}
      <Actions actions={[pauseLane(lane, paused)]} of={of} onDone={onDone} />
    </li>
  )
}

/** Labels of which only so many runs may be under way. */
function Labels({ of, onDone }: { of: Document; onDone: () => unknown }): JSX.Element {
  return (
    <Section title="Labels">
      <ul class="lanes">
        {of.label_limits.map((limit: Document) => (
          <Label key={limit.label} of={limit} onDone={onDone} />
        ))}
      </ul>
      <Actions actions={[LIMIT_LABEL]} of={of} onDone={onDone} />
    </Section>
  )
}

function Label({ of, onDone }: { of: Document; onDone: () => unknown }): JSX.Element {
  const { label, max_running: max, under_way: underWay, since, by } = of
  return (
    <li>
      <b>{label}</b> {underWay} of {max} under way{' '}
      <span class="dim">
        by {by?.name ?? 'unknown'}, <Age of={since} />
      </span>
      <Actions actions={limitActions(label)} of={of} onDone={onDone} />
    </li>
  )
}

/** Projects that get more turns than others. */
function Weights({ of, onDone }: { of: Document; onDone: () => unknown }): JSX.Element {
  return (
    <Section title="Weights">
      <ul class="lanes">
        {of.weights.map(({ project, weight, since, by, ...rest }: Document) => (
          <li key={project}>
            <b>{project}</b> weight {weight}{' '}
            <span class="dim">
              by {by?.name ?? 'unknown'}, <Age of={since} />
            </span>
            <Actions actions={weightActions(project)} of={{ ...rest, weight }} onDone={onDone} />
          </li>
        ))}
      </ul>
      <Actions actions={[WEIGH_PROJECT]} of={of} onDone={onDone} />
    </Section>
  )
}

const ITEMS: readonly Column[] = [
  { head: 'State', cell: ({ state }) => <State of={state} /> },
  { head: 'Project', cell: ({ project }) => project },
  { head: 'Lane', cell: ({ lane }) => lane },
  { head: 'What', cell: ({ id, objective }) => <Ref to={id}>{objective}</Ref>, isWide: true },
  { head: 'Why', cell: ({ waiting_because: why, reason }) => <Linked text={why?.detail ?? reason} />, isWide: true },
  { head: 'For', cell: ({ since }) => <Age of={since} /> },
]
