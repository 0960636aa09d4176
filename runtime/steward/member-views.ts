/**
 * What an initiative is shown of its members and of the work it has started, read from committed state. The initiative
 * itself reads nothing: it gets this with the message that asks it to assess or judge.
 */
import type { CampaignContext } from '../../machines/campaign/context.ts'
import type { Action } from '../../machines/documents/initiative.ts'
import type { Member } from '../../machines/documents/member.ts'
import { memberText } from '../../machines/documents/member.ts'
import { isSettledItem, WAITING_STATES } from '../../machines/documents/work-item.ts'
import { projectIdOf } from '../../machines/ids.ts'
import type { EndedItem, InitiativeContext, MemberView, OwnItem, View } from '../../machines/initiative/context.ts'
import { isHeldBy } from '../../machines/initiative/effects.ts'
import type { SnapshotOf } from '../../machines/machine.ts'
import type { WorkItemContext } from '../../machines/work-item/context.ts'
import type { Runtime } from '../api.ts'
import { committed } from '../control/committed.ts'

/** Of how many items that it has started last the initiative is told how they ended. */
const ENDED_TOLD_MAX = 8

type Reading = Pick<Runtime, 'read'>
type Seen = Omit<MemberView, 'member' | 'project'>

export function viewOf(runtime: Reading, context: InitiativeContext): View {
  const { members, internal, projects } = context
  const archived = projects.filter((key) => isArchived(runtime, key))
  const started = context.actions.filter(({ item_id }) => item_id !== undefined)
  return {
    members: members.map((member) => {
      const project = internal.homes[memberText(member)] ?? ''
      const memberView = seen(runtime, context, member)
      return {
        member,
        project,
        ...memberView,
        ...(archived.includes(project) ? { barred: 'its project is archived' } : {}),
      }
    }),
    ...(archived.length === 0 ? {} : { archived }),
    items: started.filter(({ item_id }) => item_id! in internal.cycles).flatMap((action) => ownItem(runtime, action)),
    ended: started.slice(-ENDED_TOLD_MAX).flatMap((action) => endedItem(runtime, action)),
  }
}

function isArchived(runtime: Reading, key: string): boolean {
  return committed(runtime, { kind: 'project', id: projectIdOf(key) })?.value === 'archived'
}

function seen(runtime: Reading, context: InitiativeContext, member: Member): Seen {
  const { kind, ref } = member
  const id = kind === 'project' ? projectIdOf(ref) : ref
  const snapshot = committed(runtime, { kind, id })
  // A member whose record cannot be read cannot be steered, and nobody else should wait for it.
  if (snapshot === undefined) return { state: 'missing' }
  if (kind === 'project') return { state: snapshot.value, about: snapshot.context.name }
  return kind === 'campaign' ? seenCampaign(snapshot) : seenItem(context, snapshot)
}

/** A campaign's current step goes on by itself; only a landed cycle changes what there is to decide. */
function seenCampaign({ value, context }: SnapshotOf<CampaignContext>): Seen {
  const { work, asked, reason, cycles_completed, cycles_landed, max_cycles, paused } = context
  return {
    state: value,
    ...(work === undefined ? {} : { busy: `its ${work.role} ${work.item_id} is under way` }),
    ...(paused?.until === undefined ? {} : { resumes_by_itself: true }),
    mark: String(cycles_landed),
    about: `${cycles_completed} of ${max_cycles} cycles, ${cycles_landed} landed: ${asked.mission} (${reason})`,
  }
}

const isWaiting = (state: string): boolean => (WAITING_STATES as readonly string[]).includes(state)

function seenItem(context: InitiativeContext, { value, context: item }: SnapshotOf<WorkItemContext>): Seen {
  const busy =
    value === 'running'
      ? 'it is running'
      : value !== 'held' && isWaiting(value)
        ? 'it is waiting in the queue'
        : undefined
  return {
    state: value,
    ...(busy === undefined ? {} : { busy }),
    ...(value === 'held' && isHeldBy(context, item) ? { held_by_us: true } : {}),
    about: `${item.asked.objective} (${item.reason})`,
  }
}

/** The item, unless it has settled. One that cannot be read yet is on its way into the ledger. */
function ownItem(runtime: Reading, { item_id, member, objective, decision }: Action): OwnItem[] {
  const snapshot = committed(runtime, { kind: 'work_item', id: item_id! })
  const state: string = snapshot?.value ?? (decision === 'stage' ? 'held' : 'queued')
  if (state !== 'running' && !isWaiting(state)) return []
  return [{ item_id: item_id!, project: member!.ref, objective: objective!, state }]
}

/** The item, once it has settled and until retention removes it. */
function endedItem(runtime: Reading, { item_id, member, objective }: Action): EndedItem[] {
  const snapshot: SnapshotOf<WorkItemContext> | undefined = committed(runtime, { kind: 'work_item', id: item_id! })
  if (snapshot === undefined || !isSettledItem(snapshot.value)) return []
  const { value, context } = snapshot
  return [{ item_id: item_id!, project: member!.ref, objective: objective!, state: value, reason: context.reason }]
}
