/**
 * Why something waits may involve work of projects that the reader may not see: the reader learns that it waits for
 * other work, but nothing about that work.
 */
import { idPattern, isId } from '../../machines/ids.ts'
import type { Principal } from '../../runtime/access/principals.ts'
import { readable } from '../../runtime/reader.ts'
import { maySee } from '../access.ts'
import type { ServiceContext } from '../route.ts'

const WORK = new RegExp(`${idPattern('wi')}|${idPattern('runreq')}`, 'g')

/**
 * The reason as the reader may see it. If it names work that does not exist for the reader, it is replaced as a whole,
 * since the text around the name is about that work too.
 * @param inOtherWords the replacement, by code
 */
export function redactOtherWork<C extends string>(
  service: ServiceContext,
  reader: Principal,
  why: { readonly code: C; readonly detail: string },
  inOtherWords: Readonly<Partial<Record<C, string>>>,
): { code: C; detail: string } {
  const { code, detail } = why
  const isTold = reader.projects === '*' || (detail.match(WORK) ?? []).every((id) => isSeen(service, reader, id))
  return { code, detail: isTold ? detail : (inOtherWords[code] ?? 'Waits for other work.') }
}

function isSeen({ runtime }: ServiceContext, reader: Principal, id: string): boolean {
  const kind = isId('wi', id) ? 'work_item' : 'run_request'
  const named = readable(() => runtime.read({ kind, id }), 'unreadable' as const)
  // Its own run may still be on its way, and of deleted work there is nothing to hide.
  return named === undefined || (named !== 'unreadable' && maySee(reader, named.context.project))
}
