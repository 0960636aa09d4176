/**
 * What the events that an actor states of itself assert about it. Events are the public history and no source of
 * state: `verify` holds the one against the other, and needs for that what each event says, in the words of the
 * snapshot. Pure, and no part of a step.
 */
import { canonical } from './canonical.ts'
import type { SnapshotOf } from './machine.ts'

/** What an event speaks of. Of each aspect the newest event holds; one of `creation` ends what was said before it. */
export const ASPECTS = ['creation', 'state', 'terms', 'presence', 'run'] as const
export type Aspect = (typeof ASPECTS)[number]

/** Members by name, plain JSON. One that is there and undefined says that the entity has no such member. */
export type Claims = Readonly<Record<string, unknown>>

/** An event of the log, as far as it can assert anything. */
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
  /** The member of the payload that names the entity. Absent: there is one of the kind, and it is called as that. */
  readonly idMember?: string
  /** The types that the actor states of itself: no other event asserts anything about it. */
  readonly types: ReadonlySet<string>
  /** What an event of these types speaks of. */
  aspects(event: StatedFact): readonly Aspect[]
  /** What it asserts of one of them. */
  claims(aspect: Aspect, event: StatedFact): Claims
  /** The same members, as the snapshot has them. */
  held(snapshot: SnapshotOf<C>): Claims
  /** When the entity was made (RFC 3339); undefined where no event of its own says that it was. */
  madeAt(context: C): string | undefined
}

/** Where the snapshot's members are not what is claimed of them, in words; empty: it all holds. */
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

/** Members of an object by name, absent ones as such. */
export function members(of: Readonly<Record<string, any>>, ...names: readonly string[]): Record<string, unknown> {
  return Object.fromEntries(names.map((name) => [name, of[name]]))
}
