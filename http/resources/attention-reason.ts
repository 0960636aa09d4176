/** What the list of what needs a person knows of one reason. */
import type { WaitingBecause } from '../../machines/documents/waiting-because.ts'
import type { Principal } from '../../runtime/access/principals.ts'
import type { ActorKind, SnapshotOf } from '../../runtime/api.ts'
import type { FindRows } from '../../runtime/collections/newest.ts'
import type { ServiceContext } from '../route.ts'

/**
 * One reason to call for a person. Unless `find` finds its entities in memory, they are in an index of their kind under
 * the reason's name: `attention`, or `state` if only some entities of that state need somebody (`isOf`).
 */
export interface Reason {
  readonly kind: ActorKind
  /** The reason shown, if several entries with different kinds share one. */
  readonly reason?: string
  /** The kind shown, if it is not the entity's. */
  readonly called?: string
  /** What to do about it, for the documents. */
  readonly advice: string
  /** Rows whose order is a time in the future are not due yet. */
  readonly isTimed?: true
  /** Whether an entity of that state needs somebody. */
  isOf?(snapshot: SnapshotOf<any>): boolean
  /**
   * Computed, current details of a row that no record holds: once per row, since it takes reads. Undefined: not listed.
   */
  moment?(service: ServiceContext, snapshot: SnapshotOf<any>): Moment | undefined
  /** Whether the reader may see it, if that depends on more than its project. */
  isFor?(reader: Principal, snapshot: SnapshotOf<any>): boolean
  /** Whether another item already covers it, so that it is left out. */
  isCoveredElsewhere?(service: ServiceContext, snapshot: SnapshotOf<any>): boolean
  /** Keys of the projects that it concerns, the one it is listed under first; default: the entity's. */
  projects?(snapshot: SnapshotOf<any>): readonly string[]
  since(snapshot: SnapshotOf<any>, moment?: Moment): string
  /** Finds the entities in memory, in projects whose key `sees` admits. */
  find?(service: ServiceContext, sees: (project: string) => boolean): Found
  /** Why, if the document does not say so. */
  because?(service: ServiceContext, snapshot: SnapshotOf<any>, reader: Principal): WaitingBecause | undefined
  /** The brief that governs it, if the document has only the brief's id. */
  governor?(service: ServiceContext, snapshot: SnapshotOf<any>): object | undefined
  document(service: ServiceContext, snapshot: SnapshotOf<any>, reader: Principal, moment?: Moment): object
}

export interface Moment {
  readonly since: string
  readonly because?: WaitingBecause
}

interface Found {
  readonly rows: FindRows
  /** The `moment` of each row. */
  moment?(snapshot: SnapshotOf<any>): Moment | undefined
}
