/** How a campaign is served: its document, with the state of the work item that is under way for it. */
import type { CampaignContext } from '../../machines/campaign/context.ts'
import { document } from '../../machines/campaign/view.ts'
import type { CampaignDocument } from '../../machines/documents/campaign.ts'
import { SLUG_PATTERN } from '../../machines/documents/fields.ts'
import type { SnapshotOf } from '../../machines/machine.ts'
import type { Principal } from '../../runtime/access/principals.ts'
import { readable } from '../../runtime/reader.ts'
import { maySee } from '../access.ts'
import { notFound } from '../replies.ts'
import type { ServiceContext } from '../route.ts'
import type { Exchange } from '../wire/exchange.ts'
import { findWorkItem, workItemDocumentOf } from './work-item-answers.ts'

type CampaignSnapshot = SnapshotOf<CampaignContext>

/** Campaign names; any other text in a path names no campaign. */
const NAME = new RegExp(SLUG_PATTERN)

export function campaignDocumentOf(
  service: ServiceContext,
  reader: Principal,
  snapshot: CampaignSnapshot,
): CampaignDocument {
  const shown = document(snapshot)
  const { work } = shown
  const item = work === undefined ? undefined : readable(() => findWorkItem(service, reader, work.item_id))
  if (work === undefined || item === undefined) return shown
  const { state, reason, waiting_because, running_on } = workItemDocumentOf(service, reader, item)
  const now = {
    ...(waiting_because === undefined ? {} : { waiting_because }),
    ...(running_on === undefined ? {} : { running_on }),
  }
  return { ...shown, work: { ...work, state, reason, ...now } }
}

/** The campaign that the path names, if it exists for the caller. Returns undefined if 404 was answered. */
export function visibleCampaign(service: ServiceContext, exchange: Exchange): CampaignSnapshot | undefined {
  const name = exchange.params[0]!
  const snapshot = findCampaign(service, exchange.principal, name)
  if (snapshot === undefined) notFound(exchange, 'campaign', name)
  return snapshot
}

/** The campaign of that name, if it exists for the reader. */
export function findCampaign(service: ServiceContext, reader: Principal, name: string): CampaignSnapshot | undefined {
  const snapshot = NAME.test(name) ? service.runtime.read({ kind: 'campaign', id: name }) : undefined
  return snapshot !== undefined && maySee(reader, snapshot.context.project) ? snapshot : undefined
}
