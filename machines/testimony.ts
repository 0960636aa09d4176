/**
 * What an actor's own events assert about it. Events are the public history, not a source of state. `verify` checks the
 * two against each other, and for that needs each event's assertions in terms of the snapshot. Pure, and not part of a
 * step.
 */
import { canonical } from './canonical.ts'
import type { SnapshotOf } from './machine.ts'

/** What an event is about. The newest event of each aspect holds; one of `creation` voids everything said before it. */
export const ASPECTS = ['creation', 'state', 'terms', 'presence', 'limit', 'run'] as const
export type Aspect = (typeof ASPECTS)[number]

/** Plain JSON by member name. A member that is present but undefined asserts that the entity lacks it. */
export type Claims = Readonly<Record<string, unknown>>

/** The parts of a logged event that can assert anything. */
export interface StatedFact {
  readonly event_type: string
  readonly project: string
  readonly throttle: string
  readonly trace_id: string | null
  readonly payload: Readonly<Record<string, any>>
  /** Who recorded it. */
  readonly by?: { readonly id: string; readonly name: string } | undefined
}

export interface Testimony<C = any> {
  /** The payload member with the entity's id. Absent if the kind has a single actor, whose id is the kind's name. */
  readonly idMember?: string
  /** The event types that the actor states itself; no other event asserts anything about it. */
  readonly types: ReadonlySet<string>
  /** The aspects that this event is about. */
  aspects(event: StatedFact): readonly Aspect[]
  /** What the event asserts about one aspect. */
  claims(aspect: Aspect, event: StatedFact): Claims
  /** The same members, taken from the snapshot. */
  held(snapshot: SnapshotOf<C>): Claims
  /** When the entity was created (RFC 3339); undefined if none of its own events says so. */
  madeAt(context: C): string | undefined
}

/** One sentence for each member whose value in the snapshot is not the claimed one; empty if all match. */
export function differences(claims: Claims, held: Claims): string[] {
  return Object.keys(claims).flatMap((member) => {
    const said = text(claims[member])
    const kept = text(held[member])
    return said === kept ? [] : [`says ${member} ${said}, the record has ${kept}`]
  })
}

function text(value: unknown): string {
  return value === undefined ? 'none' : canonical(JSON.parse(JSON.stringify(value)))
}

/** Picks members of an object by name; absent ones are present as undefined. */
export function members(of: Readonly<Record<string, any>>, ...names: readonly string[]): Record<string, unknown> {
  return Object.fromEntries(names.map((name) => [name, of[name]]))
}
