/** Pacing: what runs, what waits and why; lanes paused and resumed; labels limited; projects weighed. */

import {
  type LabelLimitBody,
  type LabelUnlimitBody,
  labelLimitBody,
  labelUnlimitBody,
  type Pacing,
  type PacingBody,
  pacingBody,
  pacingDocument,
  type WeighBody,
  weighBody,
} from '../../machines/documents/pacing.ts'
import type { SnapshotOf } from '../../machines/machine.ts'
import type { Messages } from '../../machines/messages.ts'
import { labelLimitsOf, lanesOf, PACING, type PacingContext, weightsOf } from '../../machines/pacing.ts'
import { LANES } from '../../machines/run-request/lanes.ts'
import type { WorkItemContext } from '../../machines/work-item/context.ts'
import type { Principal } from '../../runtime/access/principals.ts'
import { readable } from '../../runtime/reader.ts'
import type { PacingView } from '../../runtime/scheduler/api.ts'
import { maySee } from '../access.ts'
import { mapInTurns } from '../later-turns.ts'
import { askActor, markCursor } from '../replies.ts'
import { statedProject } from '../resources/projects.ts'
import { waitingBecauseOf } from '../resources/work-item-answers.ts'
import type { Route, ServiceContext } from '../route.ts'
import type { Exchange } from '../wire/exchange.ts'

const AREA = 'pacing'
const SHARED = 'Lanes and labels, and the turns of projects, are shared by all projects: a token confined to projects'
/** Waiting items shown: the list of work items pages through all. */
const WAITING_SHOWN_MAX = 500

export function pacingRoutes(service: ServiceContext): readonly Route[] {
  return [
    {
      method: 'GET',
      path: '/api/pacing',
      operation: 'readPacing',
      area: AREA,
      summary:
        'Read what runs, what waits and why, which lanes are paused, which labels limited and which projects weighed.',
      access: { right: 'view' },
      answers: { 200: { description: 'The current pacing.', schema: pacingDocument } },
      handle: (exchange) => {
        markCursor(service, exchange)
        answerPacing(service, exchange)
      },
    },
    changeRoute(service, 'pause', {
      summary: 'Pause lanes: nothing in them starts. Running work continues.',
      body: { schema: pacingBody, optional: true },
    }),
    changeRoute(service, 'resume', { summary: 'Resume lanes.', body: { schema: pacingBody, optional: true } }),
    changeRoute(service, 'limit', {
      summary: 'Limit how many runs that require a label may be under way at the same time. Running work continues.',
      body: { schema: labelLimitBody },
      problems: ['too_many_label_limits'],
    }),
    changeRoute(service, 'unlimit', { summary: 'End the limit of a label.', body: { schema: labelUnlimitBody } }),
    changeRoute(service, 'weigh', {
      summary: 'Give a project more turns than others, while several have work that a free runner could take.',
      body: { schema: weighBody },
      problems: ['unknown_project', 'too_many_weights'],
    }),
  ]
}

type Change = Messages['pacing']['type']

function changeRoute(
  service: ServiceContext,
  name: Change,
  { problems = [], ...given }: Required<Pick<Route, 'summary' | 'body'>> & Pick<Route, 'problems'>,
): Route {
  return {
    method: 'POST',
    path: `/api/pacing/${name}`,
    operation: `${name}Pacing`,
    area: AREA,
    ...given,
    description: `${SHARED} may not use this.`,
    access: { right: 'work.operate' },
    answers: { 200: { description: 'The current pacing.', schema: pacingDocument } },
    problems: ['forbidden', ...problems],
    handle: (exchange) => change(service, exchange, name),
  }
}

function change(service: ServiceContext, exchange: Exchange, type: Change): void {
  const { principal } = exchange
  if (principal.projects !== '*') {
    exchange.problem('forbidden', `${SHARED} may not ${type} them.`)
    return
  }
  if (type === 'weigh' && statedProject(service, exchange, (exchange.body as WeighBody).project) === undefined) return
  askActor(service, exchange, PACING, messageOf(exchange, type), () => {
    answerPacing(service, exchange)
  })
}

function messageOf({ body, by }: Exchange, type: Change): Messages['pacing'] {
  if (type === 'limit') return { type, by, ...(body as LabelLimitBody) }
  if (type === 'unlimit') return { type, by, ...(body as LabelUnlimitBody) }
  if (type === 'weigh') return { type, by, ...(body as WeighBody) }
  const { lanes = [] } = body as PacingBody
  return { type, by, lanes: lanes.length === 0 ? LANES : lanes }
}

function answerPacing(service: ServiceContext, exchange: Exchange): void {
  exchange.await(pacingOf(service, exchange.principal), (pacing) => exchange.answer(200, pacing))
}

/** Pacing as it is now; the items' own data are read in the next turns. */
async function pacingOf(service: ServiceContext, reader: Principal): Promise<Pacing> {
  const view = service.scheduler.view()
  const sees = (project: string): boolean => maySee(reader, project)
  const running = [...view.running].filter(({ project }) => sees(project)).sort(byStart)
  const shown = [...view.firstWaiting(WAITING_SHOWN_MAX, sees)]
  let waitingCount = view.waitingCount(sees)
  for (const entry of view.aside) {
    if (!sees(entry.project)) continue
    waitingCount++
    if (shown.length < WAITING_SHOWN_MAX) shown.push(entry)
  }
  const state = view.isUnreadable ? {} : stateOf(service)
  const uses = new Map(view.labelLimits().map(({ label, underWay }) => [label, underWay]))
  const pacing = {
    max_running: view.maxRunning,
    running_count: running.length,
    waiting_count: waitingCount,
    paused: [...view.paused],
    ...(view.isUnreadable ? { unreadable: true } : {}),
    lanes: view.isUnreadable ? LANES.map((lane) => ({ lane, paused: true })) : lanesOf(state),
    label_limits: labelLimitsOf(state, (label) => uses.get(label) ?? 0),
    weights: weightsOf(state).filter(({ project }) => sees(project)),
  }
  const paced = (entry: Entry) => pacedItem(service, reader, view, entry)
  // A copy of the entries at this moment.
  const entries = [...running, ...shown].map((entry) => ({ ...entry }))
  const items = await mapInTurns(service.runtime.platform, entries, paced)
  return { ...pacing, running: items.slice(0, running.length).flat(), waiting: items.slice(running.length).flat() }
}

type Entry = ReturnType<PacingView['firstWaiting']>[number]

/** Running items, oldest start first, before those that are only handed out. */
function byStart(a: Entry, b: Entry): number {
  if (a.state !== b.state) return a.state === 'running' ? -1 : 1
  return a.since < b.since ? -1 : 1
}

function stateOf({ runtime }: ServiceContext): Partial<PacingContext> {
  return (runtime.read(PACING) as SnapshotOf<PacingContext> | undefined)?.context ?? {}
}

/** The item; empty if its record cannot be read. */
function pacedItem(service: ServiceContext, reader: Principal, view: PacingView, entry: Entry): Pacing['waiting'] {
  const { id, project, lane, state, since } = entry
  const snapshot: SnapshotOf<WorkItemContext> | undefined = readable(() =>
    service.runtime.read({ kind: 'work_item', id }),
  )
  if (snapshot === undefined) return []
  const { asked, reason } = snapshot.context
  const repository = view.repositoryOf(entry)
  const why = waitingBecauseOf(service, reader, snapshot)
  const shown: Pacing['waiting'][number] = {
    id,
    project,
    objective: asked.objective,
    lane,
    ...(repository === undefined ? {} : { repository }),
    state: state as Pacing['waiting'][number]['state'],
    reason: state === 'queued' && why !== undefined ? why.detail : reason,
    ...(why === undefined ? {} : { waiting_because: why }),
    since,
  }
  return [shown]
}
