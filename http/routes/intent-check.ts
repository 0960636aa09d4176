/** The integrity check of a project's intent: examines every record and hypothesis, a page at a time. */
import { intentCheckDocument } from '../../machines/documents/intent-check.ts'
import { IntentCheck } from '../../machines/intent-check.ts'
import type { SnapshotOf } from '../../runtime/api.ts'
import { turn } from '../../storage/platform.ts'
import { markCursor } from '../replies.ts'
import { visibleProject } from '../resources/projects.ts'
import type { Route, ServiceContext } from '../route.ts'
import type { Exchange } from '../wire/exchange.ts'
import { INTENT_AREA } from './intent-records.ts'

/** Entities examined between two turns of the event loop: some milliseconds. */
const PAGE_ROWS = 200

export function intentCheckRoutes(service: ServiceContext): readonly Route[] {
  return [
    {
      method: 'GET',
      path: '/api/projects/:id/intent-check',
      operation: 'checkIntent',
      area: INTENT_AREA,
      summary: 'Check the intent of a project: broken links, and what is still to be done.',
      description:
        'Reads every record and hypothesis of the project, in slices so that other requests are not held up.',
      access: { right: 'view' },
      answers: { 200: { description: 'The findings.', schema: intentCheckDocument } },
      problems: ['not_found', 'view_behind'],
      handle: (exchange) => {
        const project = visibleProject(service, exchange, exchange.params[0]!)
        if (project === undefined) return
        exchange.await(check(service, exchange, project))
      },
    },
  ]
}

async function check(service: ServiceContext, exchange: Exchange, { context }: SnapshotOf<any>): Promise<void> {
  const { key, charter } = context
  const result = new IntentCheck(key, (id) => service.runtime.read({ kind: 'intent_record', id }))
  result.charter(charter)
  await each(service, exchange, 'intent_record', key, (record) => result.record(record))
  await each(service, exchange, 'hypothesis', key, (hypothesis) => result.hypothesis(hypothesis))
  if (exchange.done) return
  markCursor(service, exchange)
  exchange.answer(200, result.result())
}

async function each(
  service: ServiceContext,
  exchange: Exchange,
  kind: 'intent_record' | 'hypothesis',
  project: string,
  look: (snapshot: SnapshotOf<any>) => void,
): Promise<void> {
  const { runtime } = service
  let after: { readonly order: string; readonly id: string } | undefined
  do {
    const list = { kind, index: 'project', value: project, limit: PAGE_ROWS } as const
    const page = await runtime.list(after === undefined ? list : { ...list, after })
    for (const snapshot of page.snapshots) look(snapshot)
    after = page.next
    await turn(runtime.platform)
  } while (after !== undefined && !exchange.done)
}
