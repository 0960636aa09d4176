/**
 * Watchers that have caught up, grouped by filter. A commit finds the groups that an event concerns by the value of
 * their most selective field, so that a thousand people waiting for a thousand different run requests cost a commit
 * no more than one.
 */
import type { CommittedEvent } from '../api.ts'
import type { Filter, FilterField } from './filter.ts'

/** A member knows its index in the group, so that it can leave at no cost. */
interface Member {
  readonly filter: Filter
  groupIndex: number
}

class Group<M extends Member> {
  readonly filter: Filter
  readonly members: M[] = []
  /** When the members last got a frame, monotonic milliseconds. */
  toldMs: number

  constructor(filter: Filter, nowMs: number) {
    this.filter = filter
    this.toldMs = nowMs
  }
}

export class Groups<M extends Member> {
  readonly #byKey = new Map<string, Group<M>>()
  readonly #byPivot = new Map<FilterField, Map<string, Set<Group<M>>>>()
  /** Groups that no field narrows: everything, or everything in the visible projects. */
  readonly #broad = new Set<Group<M>>()

  all(): Iterable<Group<M>> {
    return this.#byKey.values()
  }

  join(member: M, nowMs: number): void {
    let group = this.#byKey.get(member.filter.key)
    if (group === undefined) {
      group = new Group(member.filter, nowMs)
      this.#byKey.set(group.filter.key, group)
      this.#index(group)
    }
    member.groupIndex = group.members.length
    group.members.push(member)
  }

  leave(member: M): void {
    const group = this.#byKey.get(member.filter.key)!
    const last = group.members.pop()!
    if (last !== member) {
      group.members[member.groupIndex] = last
      last.groupIndex = member.groupIndex
    }
    if (group.members.length > 0) return
    this.#byKey.delete(group.filter.key)
    this.#unindex(group)
  }

  /** The groups that the events concern, each with its events, in order. */
  match(events: readonly CommittedEvent[]): Map<Group<M>, readonly CommittedEvent[]> {
    const matched = new Map<Group<M>, CommittedEvent[]>()
    const offer = (group: Group<M>, event: CommittedEvent): void => {
      if (!group.filter.matches(event)) return
      const chosen = matched.get(group)
      if (chosen === undefined) matched.set(group, [event])
      else chosen.push(event)
    }
    const narrowed = [...this.#broad].filter((group) => !group.filter.matchesAll)
    for (const event of events) {
      for (const group of narrowed) offer(group, event)
      for (const [field, groups] of this.#byPivot) {
        const value = event[field]
        if (value === undefined || value === null) continue
        const concerned = groups.get(value)
        if (concerned !== undefined) for (const group of concerned) offer(group, event)
      }
    }
    const everything: Map<Group<M>, readonly CommittedEvent[]> = matched
    for (const group of this.#broad) if (group.filter.matchesAll) everything.set(group, events)
    return everything
  }

  #index(group: Group<M>): void {
    const pivot = group.filter.pivot
    if (pivot === undefined) {
      this.#broad.add(group)
      return
    }
    const groups = this.#byPivot.get(pivot.field) ?? new Map<string, Set<Group<M>>>()
    this.#byPivot.set(pivot.field, groups)
    for (const value of pivot.values) {
      const concerned = groups.get(value)
      if (concerned === undefined) groups.set(value, new Set([group]))
      else concerned.add(group)
    }
  }

  #unindex(group: Group<M>): void {
    const pivot = group.filter.pivot
    if (pivot === undefined) {
      this.#broad.delete(group)
      return
    }
    const groups = this.#byPivot.get(pivot.field)!
    for (const value of pivot.values) {
      const concerned = groups.get(value)!
      concerned.delete(group)
      if (concerned.size === 0) groups.delete(value)
    }
    if (groups.size === 0) this.#byPivot.delete(pivot.field)
  }
}
