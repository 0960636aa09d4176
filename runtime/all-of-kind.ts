/** Every entity of a kind, page by page, for work that must see each of them: a start, a restore. */
import type { ActorKind, SnapshotOf } from '../machines/machine.ts'
import type { Runtime } from './api.ts'

const PAGE_ROWS = 500

/** Waits for a view that is behind, however long that takes. */
export async function* allOfKind(runtime: Pick<Runtime, 'list'>, kind: ActorKind): AsyncGenerator<SnapshotOf<any>> {
  let after: { order: string; id: string } | undefined
  do {
    const page = await runtime.list({
      kind,
      index: 'all',
      value: '',
      limit: PAGE_ROWS,
      waits: true,
      ...(after === undefined ? {} : { after }),
    })
    yield* page.snapshots
    after = page.next
  } while (after !== undefined)
}
